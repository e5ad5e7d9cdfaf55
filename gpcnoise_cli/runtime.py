"""The machine a run uses: device, threads, determinism, and the versions that go into every result.

`prepare` must come before the first TensorFlow computation of the process; it is the first thing a run does.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version

from gpcnoise_cli.config.schema import RuntimeConfig
from gpcnoise_cli.errors import UsageError

REPORTED_PACKAGES = ("tensorflow", "gpflow", "numpy", "hydra-core")


def load_tensorflow() -> None:
    """Import TensorFlow without the notices its libraries print meanwhile.

    They come before any log level is heeded (tensorflow#100442), so the descriptor itself is led aside. Whoever sets
    TF_CPP_MIN_LOG_LEVEL below 3 sees them.
    """
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") != "3" or "tensorflow" in sys.modules:
        return
    try:
        kept = os.dup(2)
    except OSError:  # stderr is closed: there is nothing to keep clean
        return
    with tempfile.TemporaryFile() as notices:
        sys.stderr.flush()
        os.dup2(notices.fileno(), 2)
        try:
            import tensorflow  # noqa: F401
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
