"""One model on several devices, by tf.distribute: each replica takes its part of every minibatch.

A replica computes the loss and the gradients of its own rows as if they were the whole minibatch. Each of its B_r rows
then stands for n/B_r, so the loss of the whole minibatch, its gradients, and the A diag(g) Aᵀ that natural gradients
follow are the sums over the replicas of (B_r/B) times their own. They are summed before anything moves, and every
replica makes the same move: the parameters stay identical on all of them without being sent.

Symmetric and triangular matrices travel as their lower half, so a step sends about C·m²/2 numbers. On one device none
of this is in the compiled step.

Whether there are several devices, and on how many hosts, is known to the strategy in whose scope the model was made
(`devices.scope`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray


def on_every_replica(step: Callable[..., Any], *held: Any) -> Any:
    """`step(replica, replicas, *held)` on each of them; what it returns, tensors, must be the same on all."""
    strategy = tf.distribute.get_strategy()
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return step(0, 1, *held)

    def on_this(*mine: Any) -> Any:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return step(int(tf.get_static_value(number)), replicas, *mine)

    found = strategy.run(on_this, args=held)
    return tf.nest.map_structure(lambda value: strategy.experimental_local_results(value)[0], found)


def held(array: NDArray[Any]) -> Any:
    """A constant, of which every device has a copy; to be handed to `on_every_replica`."""
    strategy = tf.distribute.get_strategy()
    if strategy.num_replicas_in_sync == 1:
        return tf.constant(array)
    devices = strategy.extended.worker_devices

    def copy(context: tf.distribute.ValueContext) -> tf.Tensor:
        with tf.device(devices[context.replica_id_in_sync_group % len(devices)]):
            return tf.identity(tf.constant(array))

    return strategy.experimental_distribute_values_from_function(copy)


def part_of(rows: tf.Tensor, replica: int, replicas: int) -> tuple[tf.Tensor, float]:
    """The rows of a minibatch that fall to one replica, as even as can be, and which part of it they are."""
    if replicas == 1:
        return rows, 1.0
    size = rows.shape[0]
    start, end = size * replica // replicas, size * (replica + 1) // replicas
    return rows[start:end], (end - start) / size


def sum_of_parts(
    part: float,
    values: Sequence[tf.Tensor | None],
    *,
    symmetric: Container[int] = (),
    triangular: Container[int] = (),
) -> list[tf.Tensor | None]:
    """Σ_r (B_r/B) v_r for each of `values`; those at the named positions are known by their lower triangles.

    None of the sums can be had before all are: where a host is lost, no replica moves by half of a step.
    """
    if part == 1.0:
        return list(values)
    present = {i: value for i, value in enumerate(values) if value is not None}
    halved = [i for i in present if i in symmetric or i in triangular]
    sent = [part * (_lower_half(value) if i in halved else value) for i, value in present.items()]
    summed = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, sent)
    with tf.control_dependencies(summed):
        received = {i: tf.identity(value) for i, value in zip(present, summed, strict=True)}
    for i in halved:
        whole = _mirrored(received[i], present[i].shape)
        received[i] = whole if i in symmetric else tf.linalg.band_part(whole, -1, 0)
    return [received.get(i) for i in range(len(values))]


def _lower_half(M: tf.Tensor) -> tf.Tensor:
    """[C, m, m] as [C, m(m + 1)/2]."""
    classes, m, _ = M.shape
    rows, columns = np.tril_indices(m)
    return tf.gather(tf.reshape(M, [classes, m * m]), tf.constant(rows * m + columns, tf.int64), axis=1)


def _mirrored(half: tf.Tensor, shape: tf.TensorShape) -> tf.Tensor:
    """The symmetric matrices [C, m, m] with these lower halves."""
    classes, m, _ = shape
    i, j = np.indices((m, m))
    low, high = np.minimum(i, j), np.maximum(i, j)
    place = tf.constant((high * (high + 1) // 2 + low).ravel(), tf.int64)
    return tf.reshape(tf.gather(half, place, axis=1), [classes, m, m])
