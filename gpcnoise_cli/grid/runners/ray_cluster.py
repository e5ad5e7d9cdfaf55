"""A Ray cluster as a campaign needs it: connected within seconds or not at all, and every node fit for the work.

A node is fit when it runs the versions that the driver runs, and has the driver's data files where those are not sent
along. That is asked of every node before the first cell, and again by each cell, because nodes come and go.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gpcnoise_cli.config.groups import conf_dir
from gpcnoise_cli.data.folder import ENVIRONMENT, data_dir
from gpcnoise_cli.data.registry import DATASETS
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.runs.provenance import commit
from gpcnoise_cli.runtime import versions

CONNECT_SECONDS = 5.0
PROBE_SECONDS = 120.0
_LOCAL_ADDRESSES = ("auto", "local")


def connect(address: str | None, send_code: bool) -> str:
    """Join the cluster and say where it is; without an address (or RAY_ADDRESS), one is started on this machine."""
    address = address or os.environ.get("RAY_ADDRESS")
    if address is not None:
        _check_reachable(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Tasks without GPUs hide them from TensorFlow themselves.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with contextlib.ExitStack() as stack:
            modules = {"py_modules": [str(stack.enter_context(_package()))]} if send_code else {}
            context = ray.init(
                address=address,
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env=modules,
            )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
        advice = "see `ray status` there, or omit --ray-address to start Ray on this machine"
        raise GpcnoiseError(
            f"cannot join the Ray cluster at {address or 'this machine'}: {_line(error)}; {advice}."
        ) from error
    finally:
        for number, handler in handlers.items():  # Ray's own would end the campaign impolitely
            signal.signal(number, handler)
    return str(context.address_info.get("gcs_address") or address)


def _check_reachable(address: str) -> None:
    if address in _LOCAL_ADDRESSES:
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not host or not port.isdigit():
        raise UsageError(f"--ray-address {address!r} cannot be read; write HOST:PORT, such as 10.0.0.1:6379, or auto.")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        raise GpcnoiseError(
            f"no Ray cluster answers at {address} ({getattr(error, 'strerror', None) or error}); "
            "start one with `ray start --head --port=6379`, or name another --ray-address."
        ) from error


@contextlib.contextmanager
def _package() -> Any:
    """This package as a wheel would have it: its own modules, and the configuration inside."""
    import gpcnoise_cli

    source = Path(gpcnoise_cli.__file__).parent
    with tempfile.TemporaryDirectory(prefix="gpcnoise-code-") as folder:
        package = Path(folder) / source.name
        shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
        if not (package / "conf").exists():
            shutil.copytree(conf_dir(), package / "conf")
        yield package


def demands_on_nodes(cells: Iterable[Cell], *, data: bool, code: bool) -> dict[str, Any]:
    """What every node must have: these versions and, unless they are sent, this code and these data files."""
    files: set[str] = set()
    for config in (cell.config for cell in cells) if data else ():
        own = (config.dataset.path,) if config.dataset.path is not None else ()
        files |= {*DATASETS[config.dataset.name].files, *own}
    wanted = {"files": dict.fromkeys(sorted(files)), "commit": commit() if code else None}
    return probe(wanted)


def probe(demands: Mapping[str, Any]) -> dict[str, Any]:
    """What this machine has of what is demanded."""
    return {
        "versions": {name: number for name, number in versions().items() if name != "python"},
        "commit": commit() if demands["commit"] is not None else None,
        "files": {name: _digest(data_dir() / name) for name in demands["files"]},
    }


def objection(demands: Mapping[str, Any], found: Mapping[str, Any]) -> str | None:
    """Why a machine with what was `found` cannot compute; None if it can."""
    for package, wanted in demands["versions"].items():
        has = found["versions"].get(package, "none")
        if has != wanted:
            advice = "install the same there" + (", or send it by --ray-send all" if package == "gpcnoise" else "")
            return f"has {package} {has}, not {wanted} as here; {advice}."
    if found["commit"] is not None and found["commit"] != demands["commit"]:
        return (
            f"runs the code of commit {found['commit']}, not {demands['commit']} as here; check out the same there, "
            "or send this code by --ray-send all."
        )
    for name, wanted in demands["files"].items():
        if found["files"].get(name) != wanted:
            trouble = "lacks" if found["files"].get(name) is None else "has another version of"
            return (
                f"{trouble} the data file {name}; set {ENVIRONMENT} there to a folder with it, or send the data along "
                "(--ray-send data, the default)."
            )
    return None


@functools.cache
def _digest(path: Path) -> str | None:
    if not path.is_file():
        return "a folder" if path.exists() else None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _slowly(stream)


def _slowly(stream: Any) -> str:
    """Python 3.10 has no `hashlib.file_digest`."""
    digest = hashlib.sha256()
    while block := stream.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def check_nodes(demands: Mapping[str, Any]) -> None:
    """Ask every node what it has; raises a sentence about the first that cannot compute."""

    def look(demands: Mapping[str, Any]) -> dict[str, Any]:  # sent by value: this package may not be there
        try:
            from gpcnoise_cli.grid.runners.ray_cluster import probe
        except ImportError:
            try:
                from gpcnoise_cli import __version__ as found
            except ImportError:
                found = "none"
            return {"versions": {"gpcnoise": found}, "commit": None, "files": {}}
        return probe(demands)

    names = node_names()
    remote = ray.remote(num_cpus=0, max_retries=0)(look)
    asked = {
        remote.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(dict(demands)): node
        for node in names
    }
    ready, silent = ray.wait(list(asked), num_returns=len(asked), timeout=PROBE_SECONDS)
    for one in ready:
        try:
            refusal = objection(demands, ray.get(one))
        except ray.exceptions.RayError:
            continue  # lost this moment, and with it the worry
        if refusal is not None:
            raise GpcnoiseError(f"the Ray node {names[asked[one]]} {refusal}")
    if silent:
        raise GpcnoiseError(
            f"the Ray node {names[asked[silent[0]]]} did not answer in {PROBE_SECONDS:.0f} s; see `ray status`."
        )


def node_names() -> dict[str, str]:
    """The nodes that are alive, by id: their names, with a part of the id where several have the same."""
    alive = {node["NodeID"]: node["NodeName"] for node in ray.nodes() if node["Alive"]}
    names = list(alive.values())
    return {id: name if names.count(name) == 1 else f"{name}/{id[:6]}" for id, name in alive.items()}


def slots(cores: int, gpus: float) -> int:
    """How many cells the nodes that are alive have room for, at a time."""
    total = 0
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            room = has.get("CPU", 0.0) // cores
            total += int(min(room, (has.get("GPU", 0.0) + 1e-9) // gpus) if gpus else room)
    return total


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")
