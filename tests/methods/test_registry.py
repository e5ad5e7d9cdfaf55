"""Every method: known without TensorFlow, and all that the seam asks of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.config.groups import choices
from gpcnoise_cli.data.split import Split
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.methods.registry import METHODS, label_of, method_of, method_spec, variant_of
from gpcnoise_cli.training.progress import Progress


def test_reading_the_registry_does_not_import_tensorflow() -> None:
    code = "import sys; from gpcnoise_cli.methods.registry import METHODS; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_has_its_yaml() -> None:
    assert choices("method") == sorted(METHODS)


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown method 'sellu'; did you mean 'selu'"):
        method_spec("sellu")


def test_what_a_configuration_trains_and_what_tables_call_it() -> None:
    for overrides, variant, label in ((["likelihood=probit"], "probit", "GPC-II"), (["method=selu"], "selu", "Selu")):
        config = compose(overrides)
        assert (variant_of(config), label_of(config)) == (variant, label)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_fit_predict_save_and_restore(split: Callable[..., Split], name: str, classes: int) -> None:
    spec = METHODS[name]
    if not (spec.binary if classes == 2 else spec.multiclass):
        pytest.skip("not for as many classes")
    small = {"selu": ("method.settings.epochs=2", "method.settings.units=8")}.get(name, ("iterations=4", "inducing=5"))
    config, data = compose([f"method={name}", *small]), split(classes, rows=60)
    method = method_of(config)
    described = method.describe(config, classes)
    assert described["label"] == label_of(config)
    classifier = method.start(config, data).run(Progress())
    probabilities = classifier.predict(data.X_test)
    assert probabilities.shape == (data.n_test, classes)
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    assert {"steps", "train_seconds", "seconds_per_step", "incidents"} <= classifier.facts().keys()
    arrays = classifier.arrays()
    assert not any(array.dtype.hasobject for array in arrays.values())
    again = method.restore(config, arrays, data.d, classes, data.n_train)
    assert_array_equal(again.predict(data.X_test), probabilities)
    assert classifier.predict(np.empty((0, data.d))).shape == (0, classes)
