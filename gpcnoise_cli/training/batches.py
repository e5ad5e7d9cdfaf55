"""Minibatches without an input pipeline: the rows of a step are a function of (seed, step) alone.

Each pass over the data is a pseudo-random permutation that is evaluated element by element, so a batch costs O(B)
whatever n is, nothing is shuffled or stored, every row is seen once per pass, and a resumed run draws what the
interrupted one would have drawn.

The permutation is a Feistel network. A position below a·b, with a = ⌊√n⌋ and b = ⌊n/a⌋, is written as (left, right) in
Z_a × Z_b, and each round adds a keyed hash of one half to the other, which can be undone whatever the hash is. The
fewer than a positions from a·b up stay where they are; all are then rotated by a keyed shift, which brings those few
inside, and a second network follows. No loop, no table, and exactly one row per position for any n.

All arithmetic is in 64-bit integers because the training loop must not leave a GPU: TensorFlow's 32-bit integer
kernels for the GPU compute on the host, and its own `index_shuffle` has no GPU kernel at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

from gpcnoise_cli.errors import UsageError

LARGEST_NUMBER_OF_ROWS = 2**32
"""Beyond it, a hash of 32 bits times n would no longer fit 64."""


class Minibatch(NamedTuple):
    """Some training rows, their labels, and their numbers, for an optimizer that remembers something of each row."""

    X: tf.Tensor
    Y: tf.Tensor
    rows: tf.Tensor
    part: float = 1.0
    """Which part of the step's rows these are: all of them, or a replica's share."""


# Odd multipliers of the rounds, five per network (with three, neighbours in a pass of small n know of each other): the
# fractional digits of √2, √3, √5, … in 64 bits, made odd.
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
ROUND_MULTIPLIERS = tuple((math.isqrt(prime << 128) & (2**64 - 1)) | 1 for prime in PRIMES)
# The finaliser of splitmix64, a well-tested mixer of 64 bits.
MIX_SHIFTS, MIX_MULTIPLIERS = (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def batch_indices(seed: int, step: tf.Tensor, n: int, batch_size: int) -> tf.Tensor:
    """The rows of minibatch number `step` (an int64 scalar): [min(batch_size, n)]."""
    if batch_size >= n:
        return tf.range(n, dtype=tf.int64)
    if n > LARGEST_NUMBER_OF_ROWS:
        raise UsageError(f"{n} rows are more than minibatches can be drawn from; use at most {LARGEST_NUMBER_OF_ROWS}.")
    position = tf.cast(step, tf.int64) * batch_size + tf.range(batch_size, dtype=tf.int64)
    number = position // n  # of the pass; a batch may reach into the next one
    key = pass_key(seed, tf.cast(number, tf.uint64))
    return tf.cast(permuted(tf.cast(position - number * n, tf.uint64), key, n), tf.int64)


def pass_key(seed: int, number: tf.Tensor) -> tf.Tensor:
    """What selects the permutation of pass `number` (uint64); mixed twice, so that no two seeds share a pass."""
    return _mixed(_mixed(_unsigned(seed)) + number)


def permuted(index: tf.Tensor, key: tf.Tensor, n: int) -> tf.Tensor:
    """Where `index` < n goes in the permutation of n elements that `key` selects; both uint64, of one shape."""
    half = len(ROUND_MULTIPLIERS) // 2
    index = _network(index, key, n, ROUND_MULTIPLIERS[:half])
    index = _sum_modulo(index, _below(_mixed(key), n), n)
    return _network(index, key, n, ROUND_MULTIPLIERS[half:])


def _network(index: tf.Tensor, key: tf.Tensor, n: int, multipliers: tuple[int, ...]) -> tf.Tensor:
    """One Feistel network on the positions below a·b; the others stay."""
    a = math.isqrt(n)
    b = n // a
    left = index // _unsigned(b)
    right = index - left * _unsigned(b)
    for multiplier in multipliers:
        # The halves change places: what was added to is hashed in the next round.
        left, right = right, _sum_modulo(left, _below(_hash(right, key, multiplier), a), a)
        a, b = b, a
    if len(multipliers) % 2:
        left, right, a, b = right, left, b, a
    moved = left * _unsigned(b) + right
    return moved if a * b == n else tf.where(index < _unsigned(a * b), moved, index)


def _hash(value: tf.Tensor, key: tf.Tensor, multiplier: int) -> tf.Tensor:
    """A function of value and key whose upper 32 bits look random."""
    product = tf.bitwise.bitwise_xor(value, key) * _unsigned(multiplier)
    return tf.bitwise.bitwise_xor(product, tf.bitwise.right_shift(product, _unsigned(32))) * _unsigned(
        MIX_MULTIPLIERS[0]
    )


def _mixed(value: tf.Tensor) -> tf.Tensor:
    """All 64 bits of `value`, each depending on all."""
    for shift, multiplier in zip(MIX_SHIFTS, (*MIX_MULTIPLIERS, None), strict=True):
        value = tf.bitwise.bitwise_xor(value, tf.bitwise.right_shift(value, _unsigned(shift)))
        if multiplier is not None:
            value *= _unsigned(multiplier)
    return value


def _below(bits: tf.Tensor, bound: int) -> tf.Tensor:
    """The upper 32 bits of `bits` as a number below `bound` ≤ 2³², without a division."""
    upper = tf.bitwise.right_shift(bits, _unsigned(32))
    return tf.bitwise.right_shift(upper * _unsigned(bound), _unsigned(32))


def _sum_modulo(x: tf.Tensor, y: tf.Tensor, bound: int) -> tf.Tensor:
    """x + y mod `bound` for two numbers below it."""
    total = x + y
    return tf.where(total < _unsigned(bound), total, total - _unsigned(bound))


def _unsigned(value: int) -> tf.Tensor:
    return tf.constant(value % 2**64, tf.uint64)
