"""The registry: names, methods, and no TensorFlow until something is built."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods import LIKELIHOODS, build_likelihood, num_latent_functions, paper_likelihoods


def test_reading_the_registry_does_not_import_tensorflow() -> None:
    code = (
        "import sys; from gpcnoise_cli.likelihoods import LIKELIHOODS, build_likelihood, num_latent_functions; "
        "num_latent_functions('step', 2); "
        "sys.exit(bool({'tensorflow', 'gpflow', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_methods_and_noise_are_the_paper_s() -> None:
    assert {(s.name, s.label, s.noise_variance) for s in LIKELIHOODS.values() if s.of_paper} == {
        ("step", "GPC-I", 0.0),
        ("probit", "GPC-II", 1.0),
        ("logit", "GPC-III", 2.897),
        ("softmax", "GPCsm", None),
    }
    assert paper_likelihoods() == ("step", "probit", "logit", "softmax")


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("num_classes", [2, 3])
def test_what_is_built_is_what_the_registry_says(name: str, num_classes: int) -> None:
    spec = LIKELIHOODS[name]
    if not spec.fits(num_classes):
        with pytest.raises(UsageError, match=f"likelihood {name} is for .* only, and the labels have {num_classes}"):
            build_likelihood(name, num_classes)
        return
    for bound in spec.bounds:
        likelihood = build_likelihood(name, num_classes, bound=bound)
        assert likelihood.bound_name == bound
        assert likelihood.num_classes == num_classes
        assert likelihood.num_latent == likelihood.latent_dim == num_latent_functions(name, num_classes)
        assert (likelihood.delta_mode is not None) == spec.has_delta
        assert likelihood.concave == spec.concave
        assert getattr(likelihood, "noise_variance", None) == spec.noise_variance
    assert build_likelihood(name, num_classes).bound_name == spec.bounds[0]
    assert num_latent_functions(name, num_classes) == (1 if spec.single_binary and num_classes == 2 else num_classes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "probits"}, "unknown likelihood 'probits'; did you mean 'probit'"),
        ({"name": "softmax", "bound": "tilt"}, "unknown bound of the softmax likelihood 'tilt'; did you mean 'tilted'"),
        ({"name": "step", "bound": "gumbel"}, "unknown bound of the step likelihood 'gumbel'"),
        ({"name": "step", "objective": "predict"}, "unknown objective 'predict'; did you mean 'predictive'"),
        (
            {"name": "augmented", "objective": "predictive"},
            "'predictive' is not offered with likelihood augmented; use",
        ),
        ({"name": "step", "delta_mode": "learned"}, "unknown delta mode"),
        ({"name": "softmax", "delta_prior": "gamma"}, "unknown delta prior"),
        ({"name": "softmax", "noise_variance": 1.0}, "takes no noise variance"),
        ({"name": "step", "num_classes": 1}, "at least two classes"),
        ({"name": "step", "num_classes": 3, "quadrature_points": 1}, "quadrature points"),
        ({"name": "softmax", "prediction_draws": 0}, "prediction draws"),
    ],
)
def test_wrong_values_are_refused_in_a_sentence(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_likelihood(**{"num_classes": 2, **options})
