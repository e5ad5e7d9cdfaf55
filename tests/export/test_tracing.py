"""The traced graph computes what the NumPy predictor does, in ONNX Runtime where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from gpcnoise_cli.export.tracing import Traced, trace
from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, num_latent_functions
from gpcnoise_cli.predictor.file import Served
from gpcnoise_cli.predictor.kernels import PARTS
from gpcnoise_cli.predictor.restored import restore

D, M = 3, 6
CASES = [(name, classes) for name, spec in LIKELIHOODS.items() for classes in (2, 4) if spec.fits(classes)]


def served(likelihood: str, classes: int, kernel: str = "rbf", shared: bool = True) -> Served:
    """Random arrays under the names that training gives them."""
    rng = np.random.default_rng(classes)
    L = num_latent_functions(likelihood, classes)
    stacked = not shared and L > 1
    arrays = {
        "inducing_variable.inducing_variable.Z" if stacked else "inducing_variable.Z": rng.normal(size=(M, D)),
        "q_mu": 2.0 * rng.normal(size=(M, L)),
        "q_sqrt": np.tril(rng.normal(size=(L, M, M))),
        "jitter": np.asarray(1e-6),
        "likelihood.delta": np.asarray(-4.0),
        "likelihood.offset": rng.normal(size=classes),
    }
    for number in range(len(PARTS[kernel])):
        at = "kernel." + ("stack." if stacked else "") + (f"kernels[{number}]." if len(PARTS[kernel]) > 1 else "")
        front = (L,) if stacked else ()
        arrays |= {f"{at}variance": rng.normal(size=front) + 1.0, f"{at}lengthscales": rng.normal(size=(*front, D))}
    config = {
        "method": {"name": "svgp"},
        "kernel": {"name": kernel, "ard": True, "log_scale": True},
        "likelihood": {"name": likelihood, "noise_variance": None, "quadrature_points": 20, "prediction_draws": 128},
        "inducing": M,
        "seed": 0,
    }
    predictor = restore(config, arrays, D, classes)
    assert predictor is not None
    mean, scale = rng.normal(size=D), np.exp(rng.normal(size=D))
    return Served(predictor, mean, scale, tuple(range(classes)), tuple("abc"), {})


def rows() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(size=(40, D)), 20.0 * rng.normal(size=(5, D))])


def assert_same_in_onnx(model: Served) -> None:
    pytest.importorskip("onnx", reason="the extra gpcnoise[onnx] is not installed")
    from gpcnoise_cli.export.onnx_file import onnx_bytes, run_onnx

    found, _ = run_onnx(onnx_bytes(model, {}), rows())
    np.testing.assert_allclose(found, model.predict_proba(rows()), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("likelihood", "classes"), CASES)
def test_every_likelihood(likelihood: str, classes: int) -> None:
    assert_same_in_onnx(served(likelihood, classes))


@pytest.mark.parametrize("kernel", PARTS)
def test_every_kernel_of_each_class(kernel: str) -> None:
    assert_same_in_onnx(served("probit", 3, kernel, shared=False))


@pytest.mark.parametrize(("likelihood", "classes"), CASES)
def test_the_example_is_what_the_graph_computes_and_its_rows_appear_nowhere(likelihood: str, classes: int) -> None:
    """Also where ONNX is not installed: every operation of every likelihood has its counterpart."""
    model = served(likelihood, classes)
    graphs = []
    for count in (2, 5):
        X = rows()[:count]
        graph, result = trace(model.predictor.block, X)
        np.testing.assert_allclose(result.example, model.predictor.predict(X), rtol=0, atol=1e-12)
        graphs.append([(operation, inputs, attributes) for operation, inputs, _, attributes in graph.nodes])
        assert all(array.dtype in (np.float64, np.int64) for array in graph.constants.values())
    assert graphs[0] == graphs[1]


def test_what_has_no_counterpart_is_refused() -> None:
    def cumulative(X: Traced) -> Traced:
        return np.cumsum(X, axis=1)  # type: ignore[call-overload, no-any-return]

    with pytest.raises(TypeError, match="cumsum has no counterpart"):
        trace(cumulative, np.ones((2, 3)))
