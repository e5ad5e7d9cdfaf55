"""The training loop on a GPU, judged without one: TensorFlow's registry says what would run where.

The wheel carries the GPU kernels whether or not there is a GPU, and each says which dtypes it takes and which of its
inputs and outputs are in the host's memory. So the traced loop, its bodies and branches included, can be asked two
things: does every operation have a kernel that runs on a GPU, and does a step ever wait for a value to come back?
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.likelihoods import LIKELIHOODS
from gpcnoise_cli.likelihoods.registry import paper_likelihoods
from gpcnoise_cli.models.build import build_model, precision_context
from gpcnoise_cli.models.kernels import KERNELS
from gpcnoise_cli.training.loop import TrainingLoop
from gpcnoise_cli.training.optimizers import build_optimizer
from gpcnoise_cli.training.schedule import Schedule

N, D, BATCH_SIZE = 40, 3, 8

# `DEFAULT` kernels run on any device: control flow (While, If, NoOp, Placeholder), resources (ReadVariableOp), and
# shape arithmetic (BroadcastArgs), whose numbers live on the host everywhere.
ON_A_GPU = ("GPU", "DEFAULT")

# A branch is chosen on the host, so the predicate of an If has to come back. That is one boolean per step for the loss
# that must be finite, and one for the bound of the first steps; the condition of the While is the third.
PREDICATES = {("If", "cond"), ("StatelessIf", "cond")}


def settings() -> Iterator[Any]:
    """Every likelihood with every bound under both optimizers; then each other choice at least once with each.

    Each is traced for a second or two; quick are the paper's likelihoods under natural gradients, and one case of Adam.
    """
    quickly = {f"natgrad-{name}-{bound}" for name in paper_likelihoods() for bound in LIKELIHOODS[name].bounds}

    def case(name: str, *overrides: str, classes: int = 3) -> Any:
        quick = name == "adam-binary" or name in quickly
        return pytest.param(overrides, classes, id=name, marks=() if quick else pytest.mark.slow)

    for optimizer in ("adam", "natgrad"):
        for name, spec in LIKELIHOODS.items():
            for bound in spec.bounds:
                overrides = (f"optimizer={optimizer}", f"likelihood={name}", f"likelihood.bound={bound}")
                yield case(f"{optimizer}-{name}-{bound}", *overrides, classes=3 if spec.multiclass else 2)
        yield case(f"{optimizer}-binary", f"optimizer={optimizer}", "likelihood=probit", classes=2)
        for precision, mode, shared in (("float64", "free", "false"), ("float32", "optimal", "false")):
            yield case(
                f"{optimizer}-{precision}-{mode}-per-class",
                f"optimizer={optimizer}",
                "likelihood=probit",
                f"runtime.precision={precision}",
                f"delta={mode}",
                f"kernel.shared={shared}",
            )
    for index, kernel in enumerate(KERNELS):
        optimizer, shared = ("adam", "natgrad")[index % 2], ("true", "false")[index // 2 % 2]
        yield case(
            f"{kernel}", f"kernel={kernel}", f"optimizer={optimizer}", f"kernel.shared={shared}", "kernel.ard=true"
        )


def traced(overrides: tuple[str, ...], classes: int) -> list[tf.Graph]:
    """The graph of the loop, and those of its bodies and branches."""
    config = compose(["inducing=6", *overrides])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).astype(np.float64 if config.runtime.precision == "float64" else np.float32)
    with precision_context(config.runtime.precision):
        model = build_model(config, X, classes)
        optimizer = build_optimizer(model, config.optimizer, Schedule(100, config.optimizer))
        loop = TrainingLoop(optimizer, X, np.arange(N) % classes, batch_size=BATCH_SIZE, seed=0)
        graph = loop._run.get_concrete_function().graph
    return [graph, *(function_def_to_graph(function) for function in graph.as_graph_def().library.function)]


def gpu_kernel(operation: tf.Operation) -> Any:
    """The registered kernel that would run `operation` on a GPU, or None."""
    fitting = (k for k in registered(operation.type) if all(takes(operation, c) for c in k.constraint))
    return next(fitting, None)


@cache
def registered(operation_type: str) -> list[Any]:
    """The kernels for a GPU, those made for it first."""
    found = kernels.get_registered_kernels_for_op(operation_type).kernel
    return sorted((k for k in found if k.device_type in ON_A_GPU), key=lambda k: ON_A_GPU.index(k.device_type))


def takes(operation: tf.Operation, constraint: Any) -> bool:
    value = operation.get_attr(constraint.name)
    types = value if isinstance(value, list) else [value]
    return all(tf.as_dtype(t).as_datatype_enum in constraint.allowed_values.list.type for t in types)


def argument_names(operation: tf.Operation, arguments: Any) -> list[str]:
    """One name per tensor: an argument may stand for several."""
    names: list[str] = []
    for argument in arguments:
        count = 1
        if argument.number_attr:
            count = operation.get_attr(argument.number_attr)
        elif argument.type_list_attr:
            count = len(operation.get_attr(argument.type_list_attr))
        names += [argument.name] * count
    return names


def transfers(graph: tf.Graph) -> Iterator[tuple[str, tf.Operation, str, tf.Tensor]]:
    """Where a value is in one memory and wanted in the other: ("down" or "up", who wants it, as what, the value)."""
    on_host: dict[Any, bool] = {}
    for operation in graph.get_operations():
        kernel = gpu_kernel(operation)
        if kernel is None:
            continue
        for tensor, name in zip(operation.outputs, argument_names(operation, operation.op_def.output_arg), strict=True):
            # What comes into a function keeps TensorFlow's rule for it: 32-bit integers are on the host.
            entered = operation.type == "Placeholder" and tensor.dtype == tf.int32
            on_host[tensor.ref()] = name in kernel.host_memory_arg or entered
        for tensor, name in zip(operation.inputs, argument_names(operation, operation.op_def.input_arg), strict=True):
            if tensor.dtype in (tf.resource, tf.variant):
                continue  # a handle, not a value
            # A constant is in the program: it is put where it is wanted before the first step.
            if tensor.op.type == "Const" and tensor.shape.num_elements() <= 1:
                continue
            wanted_on_host = name in kernel.host_memory_arg
            if wanted_on_host != on_host[tensor.ref()]:
                yield "down" if wanted_on_host else "up", operation, name, tensor


@pytest.mark.parametrize(("overrides", "classes"), list(settings()))
def test_a_step_stays_on_the_gpu(overrides: tuple[str, ...], classes: int) -> None:
    graphs = traced(overrides, classes)
    assert sum(len(graph.get_operations()) for graph in graphs) > 300  # the step was traced, not a call of it

    without = {
        (operation.type, *(t.dtype.name for t in [*operation.inputs, *operation.outputs]))
        for graph in graphs
        for operation in graph.get_operations()
        if gpu_kernel(operation) is None
    }
    assert not without, "operations without a GPU kernel"

    moved = [transfer for graph in graphs for transfer in transfers(graph)]
    down = {(o.type, name, t.op.type, o.name) for way, o, name, t in moved if way == "down"}
    assert {entry for entry in down if entry[:2] not in PREDICATES} == set(), "values that a step waits for on the host"
    # Single numbers that the host knows (a shape's) may travel with the launch of a kernel; blocks of data may not.
    up = {(o.type, name, t.op.type, str(t.shape)) for way, o, name, t in moved if way == "up" and t.shape.rank != 0}
    assert not up, "blocks that are copied to the GPU in every step"


@pytest.mark.parametrize(
    ("operation", "dtype"), [("random_index_shuffle", tf.int64), ("dense_bincount", tf.float64), ("mul", tf.int32)]
)
def test_the_judge_knows_what_would_leave_the_gpu(operation: str, dtype: tf.DType) -> None:
    """The operations that this test is there to keep out are indeed found wanting."""
    with tf.Graph().as_default() as graph:
        values = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[4])
        index = tf.cast(values, tf.int32)
        if operation == "random_index_shuffle":
            tf.random.experimental.index_shuffle(tf.cast(values, dtype), [1, 2], 9)
        elif operation == "dense_bincount":
            tf.raw_ops.DenseBincount(input=index, size=4, weights=tf.cast(values, dtype))
        else:
            _ = index * index
    without = [o.type for o in graph.get_operations() if gpu_kernel(o) is None]
    waits = [o.type for way, o, _, _ in transfers(graph) if way == "down"]
    expected = {"random_index_shuffle": ["RandomIndexShuffle"], "dense_bincount": ["DenseBincount"], "mul": []}
    assert without == expected[operation]
    assert ("Mul" in waits) == (operation == "mul")
