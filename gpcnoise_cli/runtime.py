"""The machine a run uses: device, threads, determinism, and the versions that go into every result.

`prepare` must come before the first TensorFlow computation of the process; it is the first thing a run does.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from gpcnoise_cli.config.schema import RuntimeConfig
from gpcnoise_cli.errors import UsageError

REPORTED_PACKAGES = ("tensorflow", "gpflow", "numpy", "hydra-core")


def load_tensorflow() -> None:
    """Import TensorFlow and GPflow: quickly, and without the notices that TensorFlow's libraries print meanwhile.

    They come before any log level is heeded (tensorflow#100442), so the descriptor itself is led aside. Whoever sets
    TF_CPP_MIN_LOG_LEVEL below 3 sees them. A plain import of either does as well, only later and louder.
    """
    if "gpflow" in sys.modules:
        return
    if "tensorflow" not in sys.modules:
        # TensorFlow Probability needs the older Keras; without this TensorFlow would load both. Set any later, it would
        # break a process that has the newer one.
        os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    quiet = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "3" and "tensorflow" not in sys.modules
    with _no_collections():
        with stderr_led_aside() if quiet else contextlib.nullcontext():
            # Before TensorFlow: only then does it leave those parts unloaded that nobody touches.
            importlib.import_module("tensorflow_probability")
            importlib.import_module("tensorflow")
        with quick_decorators():
            importlib.import_module("gpflow")


@contextlib.contextmanager
def quick_decorators() -> Iterator[None]:
    """For imports of GPflow and what builds on it: `check_shapes` decorates functions without asking or reading much.

    It would parse every docstring to write the shapes into it, which is most of GPflow's import; those stay as written.
    And it would ask TensorFlow whether a graph is being built, which starts a thread, and a process with threads cannot
    be forked safely. The checks themselves are the same.
    """
    from check_shapes import config

    docstrings, checking = config.get_rewrite_docstrings(), config.get_enable_check_shapes()
    config.set_rewrite_docstrings(None)
    if checking is config.ShapeCheckingState.EAGER_MODE_ONLY:  # and imports are eager
        config.set_enable_check_shapes(config.ShapeCheckingState.ENABLED)
    try:
        yield
    finally:
        config.set_rewrite_docstrings(docstrings)
        config.set_enable_check_shapes(checking)


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Without the garbage collector: thousands of modules leave no garbage, and looking for it costs a quarter."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def stderr_led_aside() -> Iterator[None]:
    """What is written to descriptor 2 meanwhile goes to a file that nobody reads."""
    try:
        kept = os.dup(2)
    except OSError:  # stderr is closed: there is nothing to keep clean
        yield
        return
    with tempfile.TemporaryFile() as notices:
        sys.stderr.flush()
        os.dup2(notices.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def prepare(config: RuntimeConfig) -> str:
    """Set TensorFlow up and return the device that will be used: `cpu` or `gpu`."""
    load_tensorflow()
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    gpus = tf.config.list_physical_devices("GPU")
    if config.device == "gpu" and not gpus:
        raise UsageError("--device gpu: TensorFlow sees no GPU here; use --device cpu, or see `gpcnoise doctor`.")
    # TensorFlow refuses to change these once it has started; a second run in one process keeps the first's.
    with contextlib.suppress(RuntimeError):
        if config.device == "cpu":
            tf.config.set_visible_devices([], "GPU")
        else:
            for gpu in gpus:
                tf.config.experimental.set_memory_growth(gpu, True)
    with contextlib.suppress(RuntimeError):
        if config.threads:
            tf.config.threading.set_intra_op_parallelism_threads(config.threads)
            tf.config.threading.set_inter_op_parallelism_threads(config.threads)
    # Same seed, same result: no op may choose its order of summation at run time.
    tf.config.experimental.enable_op_determinism()
    # Newer GPUs round the factors of a float32 product to 10 bits unless told not to; a kernel cannot bear that.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    return "gpu" if gpus and config.device != "cpu" else "cpu"


def limit_threads(threads: int) -> None:
    """Let NumPy's products use so many threads in this process; 0 leaves them all cores."""
    if threads:
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads, user_api="blas")


def versions() -> dict[str, str]:
    """This program and what its numbers depend on."""
    from gpcnoise_cli import __version__

    found = {"gpcnoise": __version__, "python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found
