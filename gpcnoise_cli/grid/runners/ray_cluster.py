"""A Ray cluster as a campaign needs it: connected within seconds or not at all, and every node fit for the work.

Every node is asked for what is demanded of it before the first cell, so that no hours are spent before it is missed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gpcnoise_cli.config.groups import conf_dir
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.grid.runners.demands import objection
from gpcnoise_cli.runtime import stderr_led_aside

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
            stack.enter_context(stderr_led_aside())  # each vain attempt would be told there; the last one is raised
            modules = {"py_modules": [str(stack.enter_context(_package()))]} if send_code else {}
            context = ray.init(
                address=address,
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env=modules,
            )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
        advice = "see `ray status` there; if it asks for a token, set RAY_AUTH_MODE and RAY_AUTH_TOKEN here too"
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


def check_nodes(demands: Mapping[str, Any]) -> None:
    """Ask every node what it has; raises a sentence about the first that cannot compute."""

    def look(demands: Mapping[str, Any]) -> dict[str, Any]:  # sent by value: this package may not be there
        try:
            from gpcnoise_cli.grid.runners.demands import probe
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
