"""The machine a run uses: device, threads, determinism, and the versions that go into every result.

`prepare` must come before the first TensorFlow computation of the process; it is the first thing a run does.
"""

from __future__ import annotations

import contextlib
import gc
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
    # TensorFlow Probability needs the older Keras; without this TensorFlow would load both.
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    quiet = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "3" and "tensorflow" not in sys.modules
    with _no_collections(), _stderr_led_aside() if quiet else contextlib.nullcontext():
        # Before TensorFlow: only then does it leave its parts that nobody touches unloaded.
        import tensorflow_probability  # noqa: F401
        import tensorflow  # noqa: F401, I001

        with _docstrings_as_written():
            import gpflow  # noqa: F401


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
def _docstrings_as_written() -> Iterator[None]:
    """Without the shapes that check_shapes writes into GPflow's docstrings; the checks themselves are not touched.

    Parsing those docstrings is most of GPflow's import, and nobody reads them here.
    """
    from check_shapes.config import get_rewrite_docstrings, set_rewrite_docstrings

    chosen = get_rewrite_docstrings()
    set_rewrite_docstrings(None)
    try:
        yield
    finally:
        set_rewrite_docstrings(chosen)


@contextlib.contextmanager
def _stderr_led_aside() -> Iterator[None]:
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
    return "gpu" if gpus and config.device != "cpu" else "cpu"


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
