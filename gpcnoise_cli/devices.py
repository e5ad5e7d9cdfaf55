"""The devices that share one model, and the hosts they are on: a strategy of tf.distribute, or none.

`runtime.devices` is a number of devices of this host, or all. Several hosts are listed in the environment variable
TF_CONFIG, as TensorFlow has it; the first of them, the chief, alone writes the run folder. docs/scale.md shows both.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.config.schema import RuntimeConfig
from gpcnoise_cli.errors import GpcnoiseError, UsageError
from gpcnoise_cli.runtime import stderr_led_aside

if TYPE_CHECKING:
    import tensorflow as tf

ENVIRONMENT = "TF_CONFIG"
ALL = "all"
CHIEF_SECONDS = 600.0
_EXAMPLE = '{"cluster": {"worker": ["HOST:PORT", "HOST:PORT"]}, "task": {"type": "worker", "index": 0}}'


@dataclass(frozen=True)
class Cluster:
    """The hosts of one training run, the chief first, and the place of this one among them."""

    addresses: tuple[str, ...]
    place: int

    @property
    def is_chief(self) -> bool:
        return self.place == 0

    @property
    def introduction(self) -> str:
        """What this host is, for its user."""
        role = "the chief" if self.is_chief else f"a helper of the chief, {self.addresses[0]}, which writes the results"
        number, all_of_them = self.place + 1, len(self.addresses)
        return f"host {number} of {all_of_them} ({self.addresses[self.place]}), {role}; waiting for the others."

    @classmethod
    def from_environment(cls) -> Cluster | None:
        """What TF_CONFIG says; None where it is not set or names no other host."""
        text = os.environ.get(ENVIRONMENT, "").strip()
        if not text:
            return None
        try:
            content = json.loads(text)
            jobs, task = dict(content.get("cluster") or {}), content.get("task") or {}
            if not jobs:
                return None
            hosts = [(job, index) for job in ("chief", "worker") for index in range(len(jobs.get(job, ())))]
            addresses = tuple(str(jobs[job][index]) for job, index in hosts)
            place = hosts.index((task["type"], int(task["index"])))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{ENVIRONMENT} cannot be read ({error!r}); it must be like {_EXAMPLE}.") from error
        others = jobs.keys() - {"chief", "worker"}
        if others:
            raise UsageError(f"{ENVIRONMENT} names {', '.join(sorted(others))}, but hosts are chief or worker here.")
        return cls(addresses, place) if len(addresses) > 1 else None


class _Joined:
    """The cluster that this process belongs to; it can join one only, and not leave it."""

    cluster: Cluster | None = None
    strategy: Any = None


def joined() -> Cluster | None:
    return _Joined.cluster


def join(cluster: Cluster, runtime: RuntimeConfig) -> None:
    """Meet the other hosts, which takes until all of them are there; before TensorFlow's first computation."""
    import tensorflow as tf

    if _Joined.cluster is not None:
        if _Joined.cluster != cluster:
            raise GpcnoiseError("this process has joined other hosts already; start another one.")
        return
    gpus = [] if runtime.device == "cpu" else tf.config.list_physical_devices("GPU")
    usable = _count(runtime.devices, len(gpus) or 1, "GPU" if gpus else "CPU")
    if gpus:
        tf.config.set_visible_devices(gpus[:usable], "GPU")
    if not cluster.is_chief:
        _wait_for_chief(cluster.addresses[0])
    # AUTO would take NCCL for some tensors and not for others, by what it finds on each host.
    ring = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING
    )
    try:
        # The server that is started here greets on stderr, whatever the log level.
        with stderr_led_aside():
            _Joined.strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=ring)
    except (tf.errors.OpError, RuntimeError) as error:
        here, reason = cluster.addresses[cluster.place], str(error).partition("\n")[0]
        raise GpcnoiseError(
            f"this host cannot join the others as {here} ({reason}); see that the address is its own and free, and "
            f"that {', '.join(cluster.addresses)} can reach each other."
        ) from error
    _Joined.cluster = cluster
    # TensorFlow has taken the termination signal for itself: it is given back to whoever had it.
    with contextlib.suppress(ValueError, TypeError):
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def _wait_for_chief(address: str, seconds: float = CHIEF_SECONDS) -> None:
    """Until the chief can be reached: TensorFlow would wait for an hour, and not heed a signal meanwhile."""
    host, _, port = address.rpartition(":")
    began = time.monotonic()
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except (OSError, ValueError) as error:
            hopeless = isinstance(error, (socket.gaierror, ValueError))
            if hopeless or time.monotonic() - began > seconds:
                raise GpcnoiseError(
                    f"the chief cannot be reached at {address} ({error}); see that it has been started and that "
                    f"{ENVIRONMENT} has its address as HOST:PORT."
                ) from error
            time.sleep(0.2)


@contextlib.contextmanager
def hosts_kept() -> Iterator[None]:
    """Before training: a sentence, where another host is lost."""
    try:
        yield
    except Exception as error:
        if joined() is None or isinstance(error, GpcnoiseError) or not hasattr(error, "error_code"):
            raise
        raise GpcnoiseError(
            "another host was lost before training began; see what it says, and start all of them again."
        ) from error


def leave(runtime: RuntimeConfig) -> None:
    """Wait until every host is done: one that ends earlier would look like one that was lost."""
    import tensorflow as tf

    def wait() -> tf.Tensor:
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(0.0))

    # If one was lost by now, the others have what they need of it.
    with scope(runtime), contextlib.suppress(tf.errors.OpError):
        tf.function(lambda: _Joined.strategy.run(wait), autograph=False)()


def scope(runtime: RuntimeConfig) -> contextlib.AbstractContextManager[Any]:
    """Where a model is made and trained: variables made inside have a copy on every device that shares it."""
    strategy = _Joined.strategy or _strategy(runtime.devices, runtime.device)
    return contextlib.nullcontext() if strategy is None else strategy.scope()


def devices_used(runtime: RuntimeConfig) -> dict[str, int]:
    """For a result: how many devices shared the model and on how many hosts, where it was more than one."""
    strategy = _Joined.strategy or _strategy(runtime.devices, runtime.device)
    devices = {} if strategy is None else {"devices": strategy.num_replicas_in_sync}
    return devices if _Joined.cluster is None else {**devices, "hosts": len(_Joined.cluster.addresses)}


@cache  # a second strategy of the same devices would mistake its sums for those of the first
def _mirrored(devices: tuple[str, ...]) -> tf.distribute.MirroredStrategy:
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(list(devices))


def _strategy(devices: str, device: str) -> tf.distribute.Strategy | None:
    if devices == "1":
        return None
    import tensorflow as tf

    gpus = [] if device == "cpu" else tf.config.list_logical_devices("GPU")
    found = gpus or tf.config.list_logical_devices("CPU")
    names = [one.name for one in found[: _count(devices, len(found), "GPU" if gpus else "CPU")]]
    return _mirrored(tuple(names)) if len(names) > 1 else None


def _count(asked: str, found: int, kind: str) -> int:
    if asked != ALL and int(asked) > found:
        kinds = kind if found == 1 else f"{kind}s"
        cores = "; all cores of a CPU are one device" if kind == "CPU" else ""
        raise UsageError(
            f"runtime.devices={asked}, but TensorFlow sees {found} {kinds} here{cores}; use runtime.devices={found}, "
            f"or {ALL}."
        )
    return found if asked == ALL else int(asked)
