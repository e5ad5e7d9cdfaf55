"""What the hosts of one training run have to agree on, where there are several.

Every host runs the same program on the same data, and its replicas make the same moves. What depends on the clock, on
a signal, on rounding that differs between processors, or on a file, is decided by the chief and told to the others, or
they would wait for each other's sums at different steps. One host agrees with itself, at no cost.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpcnoise_cli.config.compare import settings_of
from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data import Split
from gpcnoise_cli.devices import joined
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.training.replicas import on_every_replica


def several() -> bool:
    return joined() is not None


def is_chief() -> bool:
    cluster = joined()
    return cluster is None or cluster.is_chief


def of_chief(*numbers: float) -> list[float]:
    """The chief's numbers, on every host."""
    if not several():
        return list(numbers)
    return _array_of_chief(np.array(numbers, np.float64)).tolist()


def file_of_chief(path: Path | None) -> tuple[Path, bytes | None]:
    """The chief's `path` with what is in it; on one host, the path alone. The other hosts have none."""
    if not several():
        assert path is not None
        return path, None
    content = path.read_bytes() if path is not None else b""
    (size,) = map(int, of_chief(len(content)))
    words = np.frombuffer(content.ljust(-(-size // 8) * 8, b"\0"), np.int64)
    return path or Path("checkpoint"), _array_of_chief(words).tobytes()[:size]


def any_host(flag: bool) -> bool:
    """Whether `flag` is raised on any of them."""
    if not several():
        return flag
    return bool(_sum(tf.constant(float(flag), tf.float64), only_first=False).numpy() > 0)


def check_shares(config: TrainConfig, split: Split) -> None:
    """Every replica must have a row of each minibatch, and every host the same settings and rows."""
    replicas, rows = tf.distribute.get_strategy().num_replicas_in_sync, min(config.batch_size, split.n_train)
    if rows < replicas:
        raise UsageError(
            f"a minibatch of {rows} {'row' if rows == 1 else 'rows'} cannot be shared by {replicas} devices; take a "
            f"larger --batch-size, or runtime.devices={rows} at most."
        )
    if several():
        asked = {key: value for key, value in settings_of(config).items() if key != "dataset.path"}
        settings = zlib.crc32(json.dumps(asked, sort_keys=True).encode())
        if split.store is not None:
            data = zlib.crc32(split.store.key.encode())  # which is a digest of its content
        else:
            data = zlib.crc32(split.y_train.tobytes(), zlib.crc32(np.ascontiguousarray(split.X_train).data))
        for what, mine in (("settings", settings), ("training rows", data)):
            if any_host(of_chief(mine)[0] != mine):
                raise UsageError(f"the {what} are not the same on all hosts; give each the same command and data.")


def _sum(value: tf.Tensor, *, only_first: bool) -> tf.Tensor:
    """The sum over all replicas of all hosts, or the value of the first replica alone."""
    return _summing(only_first)(value)


def _array_of_chief(mine: NDArray[Any]) -> NDArray[Any]:
    """The chief's array of this shape and dtype."""
    return _sum(tf.constant(mine), only_first=True).numpy()


@cache
def _summing(only_first: bool) -> Callable[[tf.Tensor], tf.Tensor]:
    def total(value: tf.Tensor) -> tf.Tensor:
        def part(replica: int, _: int) -> tf.Tensor:
            sent = tf.zeros_like(value) if only_first and replica else tf.identity(value)  # on this device
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, sent)

        return on_every_replica(part)

    return tf.function(total, autograph=False)
