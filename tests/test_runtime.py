"""Device, threads and versions, as a run finds them."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

import gpcnoise_cli
from gpcnoise_cli.config.schema import RuntimeConfig
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.runtime import REPORTED_PACKAGES, prepare, versions


def test_without_a_gpu_auto_and_cpu_mean_the_cpu() -> None:
    assert prepare(RuntimeConfig(device="auto")) == "cpu"
    assert prepare(RuntimeConfig(device="cpu")) == "cpu"


def test_a_gpu_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="sees no GPU here; use --device cpu"):
        prepare(RuntimeConfig(device="gpu"))


def test_it_may_be_called_after_tensorflow_has_started() -> None:
    import tensorflow as tf

    assert float(tf.reduce_sum(tf.ones([3]))) == 3.0
    assert prepare(RuntimeConfig(device="cpu", threads=1)) == "cpu"


def test_sums_come_out_the_same_every_time() -> None:
    import tensorflow as tf

    prepare(RuntimeConfig())
    values = tf.constant(np.random.default_rng(0).normal(size=200_000).astype(np.float32))
    rows = tf.constant(np.random.default_rng(1).integers(5, size=200_000))
    sums = [tf.math.unsorted_segment_sum(values, rows, 5).numpy().tobytes() for _ in range(5)]
    assert len(set(sums)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("first", ["import tf_keras", "import tensorflow"])
def test_what_was_imported_before_does_not_matter(first: str) -> None:
    code = f"{first}; from gpcnoise_cli.runtime import load_tensorflow; load_tensorflow(); import gpflow.models"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_quick_imports_take_nothing_away() -> None:
    program = """
import gc, sys
from gpcnoise_cli.runtime import load_tensorflow
load_tensorflow()
load_tensorflow()
import check_shapes, gpflow, numpy as np, tensorflow as tf, tensorflow_probability as tfp

assert gc.isenabled()
assert check_shapes.config.get_rewrite_docstrings().name == "SPHINX"
assert check_shapes.config.get_enable_check_shapes().name == "EAGER_MODE_ONLY"
try:
    gpflow.kernels.RBF().K_r2(np.zeros(()))
    raise SystemExit("GPflow no longer checks shapes")
except check_shapes.exceptions.ShapeMismatchError:
    pass
assert "tensorflow_probability.python.experimental" not in sys.modules
assert callable(tfp.experimental.util.make_trainable) and callable(tfp.layers.DenseFlipout)
assert tf.keras.layers.Dense.__module__.startswith("tf_keras.")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_products_in_float32_are_not_rounded_further() -> None:
    import tensorflow as tf

    tf.config.experimental.enable_tensor_float_32_execution(True)
    prepare(RuntimeConfig())
    assert not tf.config.experimental.tensor_float_32_execution_enabled()


def test_versions_name_the_program_and_all_that_its_numbers_depend_on() -> None:
    found = versions()
    assert found["gpcnoise"] == gpcnoise_cli.__version__
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert {"gpcnoise", "python", *REPORTED_PACKAGES} == found.keys()


def test_an_absent_package_is_called_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcnoise_cli.runtime.REPORTED_PACKAGES", ("no-such-package",))
    assert versions()["no-such-package"] == "absent"
