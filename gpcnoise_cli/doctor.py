"""What `gpcnoise doctor` looks at: everything a training run needs from the machine, one check per need.

A check never raises: whatever goes wrong becomes a finding, so one broken part does not hide the others.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check; `state` is ok, warn (worth knowing) or fail (training cannot work)."""

    check: str
    state: str
    detail: str


def examine() -> Iterator[Finding]:
    """All findings, in the order in which a run would meet the trouble."""
    for name, check in CHECKS.items():
        try:
            state, detail = check()
        except Exception as error:
            state, detail = FAIL, f"{type(error).__name__}: {error}"
        yield Finding(name, state, " ".join(detail.split()))


def _python() -> tuple[str, str]:
    return OK, f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _packages() -> tuple[str, str]:
    from gpcnoise_cli.runtime import versions

    found = {name: version for name, version in versions().items() if name != "python"}
    listed = ", ".join(f"{name} {version}" for name, version in found.items())
    lacking = [name for name, version in found.items() if version == "absent"]
    if lacking:
        return FAIL, f"{listed}; install {', '.join(lacking)}"
    # The limits of pyproject.toml, as the installed package records them.
    with contextlib.suppress(metadata.PackageNotFoundError, ImportError):
        from packaging.requirements import Requirement

        for text in metadata.requires("gpcnoise") or ():
            wanted = Requirement(text)
            if wanted.name in found and not wanted.specifier.contains(found[wanted.name], prereleases=True):
                return WARN, f"{listed}; gpcnoise is made for {wanted.name} {wanted.specifier}"
    return OK, listed


def _devices() -> tuple[str, str]:
    from gpcnoise_cli.config.schema import RuntimeConfig
    from gpcnoise_cli.devices import Cluster
    from gpcnoise_cli.runtime import prepare

    prepare(RuntimeConfig())
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in gpus]
    if not gpus and shutil.which("nvidia-smi"):
        return WARN, "cpu; this machine has an NVIDIA driver but TensorFlow sees no GPU: pip install 'gpcnoise[gpu]'"
    cluster = Cluster.from_environment()
    hosts = f"; TF_CONFIG: host {cluster.place + 1} of {len(cluster.addresses)}" if cluster else ""
    usable = f"--devices up to {len(gpus)}" if len(gpus) > 1 else "one device for a model"
    return OK, (f"cpu, gpu: {', '.join(names)}" if gpus else "cpu (no GPU)") + f"; {usable}{hosts}"


def _backends() -> tuple[str, str]:
    from gpcnoise_cli.grid.runners.registry import BACKENDS

    said = []
    for backend in BACKENDS.values():
        if backend.package is None:
            said.append(backend.name)
        elif backend.available:
            lacking = ", but there is no srun here" if backend.name == "slurm" and not shutil.which("srun") else ""
            said.append(f"{backend.name} ({backend.package} {backend.version()}{lacking})")
        else:
            said.append(f"{backend.name} absent: {backend.how_to_get}")
    return OK, "; ".join(said)


def _threads() -> tuple[str, str]:
    import tensorflow as tf

    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    intra = tf.config.threading.get_intra_op_parallelism_threads()
    detail = f"{usable} of {cores} cores usable, TensorFlow takes {intra or 'all of them'}"
    limits = [
        f"{name}={os.environ[name]}" for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS") if name in os.environ
    ]
    return OK, detail + (f" ({', '.join(limits)})" if limits else "")


def _data_folder() -> tuple[str, str]:
    from gpcnoise_cli.data.folder import ENVIRONMENT, data_dir
    from gpcnoise_cli.data.inventory import list_sets

    folder, chosen = data_dir(), bool(os.environ.get(ENVIRONMENT))
    states = Counter(entry.state for entry in list_sets())
    sets = f"{states['here']} sets here, {states['generated']} generated, {states['absent']} absent"
    origin = f"by {ENVIRONMENT}" if chosen else "default"
    if folder.is_dir():
        return OK, f"{folder} ({origin}): {sets}"
    if folder.exists():
        return WARN, f"{folder} ({origin}) is not a folder: {sets}; set {ENVIRONMENT} to one"
    return (WARN if chosen else OK), f"{folder} ({origin}) does not exist yet: {sets}; `gpcnoise data fetch` makes it"


def _writing(folder: Callable[[], Path], trouble: str) -> Callable[[], tuple[str, str]]:
    def check() -> tuple[str, str]:
        path = folder().absolute()
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        try:
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            return trouble, f"cannot write in {there}: {error.strerror or error}; work in another folder, or use --out"
        free = shutil.disk_usage(there).free / 1e9
        made = "" if path.exists() else " (will be made)"
        return (OK if free > 0.5 else WARN), f"{path}{made}: {free:.1f} GB free"

    return check


def _runs_folder() -> Path:
    from gpcnoise_cli.runs.run_folder import RUNS

    return RUNS


def _fetched_data_folder() -> Path:
    from gpcnoise_cli.data.folder import data_dir

    return data_dir()


def _smoke_test() -> tuple[str, str]:
    """One step of training, saved, loaded and asked again, as `train` and `predict` do it."""
    import numpy as np

    from gpcnoise_cli.config.compose import compose
    from gpcnoise_cli.runs.train import load_data, run_training
    from gpcnoise_cli.runs.trained import evaluate_trained, load_trained

    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gpcnoise-doctor-") as folder, contextlib.redirect_stdout(io.StringIO()):
        config = compose(
            ["dataset=three-class", "dataset.source=generated", "inducing=10", "batch_size=32", "iterations=1"]
        )
        config.out = str(Path(folder) / "run")
        result = run_training(config, data=load_data(config))
        again = evaluate_trained(load_trained(Path(config.out)))
    if not np.isfinite(result["nll"]):
        return FAIL, f"one step of training gave the nll {result['nll']}"
    if not abs(result["nll"] - again["nll"]) < 1e-3:  # training rounds to float32, predictions do not
        return FAIL, f"a saved model predicts differently: nll {result['nll']!r}, after loading {again['nll']!r}"
    return OK, f"one step on {result['device']}, saved and loaded, in {time.perf_counter() - began:.1f} s"


CHECKS: dict[str, Callable[[], tuple[str, str]]] = {
    "python": _python,
    "packages": _packages,
    "devices": _devices,
    "threads": _threads,
    "backends": _backends,
    "data folder": _data_folder,
    "writing here": _writing(Path.cwd, WARN),
    "writing runs": _writing(_runs_folder, FAIL),
    "writing data": _writing(_fetched_data_folder, WARN),
    "training": _smoke_test,
}
