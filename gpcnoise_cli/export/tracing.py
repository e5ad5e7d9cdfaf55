"""The arithmetic of a NumPy predictor, recorded as an ONNX graph in float64.

NumPy hands every operation on a `Traced` value to the value itself, so the predictor's own code, run once on an
example, writes the graph: there is no second version of the mathematics. The example gives the shapes; its number of
rows appears nowhere.

Of the operations, ONNX Runtime has no error function in float64; the normal CDF is made of the polynomial that the
likelihoods use in training.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy import special

from gpcnoise_cli.predictor.nodes import ERFCX_MAP_SCALE, erfcx_coefficients

_DEGREE = 24
_UFUNCS = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.divide: "Div",
    np.matmul: "MatMul",
    np.maximum: "Max",
    np.minimum: "Min",
    np.less: "Less",
    np.greater: "Greater",
    np.negative: "Neg",
    np.absolute: "Abs",
    np.exp: "Exp",
    np.log: "Log",
    np.sqrt: "Sqrt",
}
_REDUCTIONS = {np.sum: "ReduceSum", np.prod: "ReduceProd", np.max: "ReduceMax"}


class Graph:
    """Nodes and constants in the making."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, np.ndarray] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, operation: str, inputs: list[Any], example: Any, **attributes: Any) -> Traced:
        name = f"{operation.lower()}{len(self.nodes)}"
        self.nodes.append((operation, [self._name(value) for value in inputs], name, attributes))
        return Traced(self, name, np.asarray(example))

    def _name(self, value: Any) -> str:
        if isinstance(value, Traced):
            return value.name
        array = np.asarray(value)
        array = np.ascontiguousarray(array, np.int64 if array.dtype.kind in "iu" and array.ndim else np.float64)
        array = array.reshape(np.shape(value))
        key = (array.dtype.str, array.shape, array.tobytes())
        name = self._names.setdefault(key, f"constant{len(self._names)}")
        self.constants[name] = array
        return name


class Traced(NDArrayOperatorsMixin):
    """A value of the graph, with what it is for the example."""

    def __init__(self, graph: Graph, name: str, example: np.ndarray) -> None:
        self.graph, self.name, self.example = graph, name, example

    @property
    def shape(self) -> tuple[int, ...]:
        return self.example.shape

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc in _COMPOSED:
            return _COMPOSED[ufunc](*inputs)
        return self.graph.add(_UFUNCS[ufunc], list(inputs), ufunc(*map(_example, inputs)))

    def __array_function__(self, function: Any, types: Any, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        graph = self.graph
        if function is np.concatenate:
            example = np.concatenate([_example(one) for one in given[0]], **options)
            return graph.add("Concat", list(given[0]), example, axis=options["axis"])
        example = function(*map(_example, given), **options)
        if function is np.where:
            return graph.add("Where", list(given), example)
        if function in _REDUCTIONS:
            keep = int(options.get("keepdims", False))
            return graph.add(_REDUCTIONS[function], [given[0], np.array([options["axis"]])], example, keepdims=keep)
        if function is np.argmax:
            return graph.add("ArgMax", [given[0]], example, axis=options["axis"], keepdims=int(example.ndim > 1))
        if function is np.take_along_axis:
            return graph.add("GatherElements", list(given), example, axis=options["axis"])
        if function is np.expand_dims:
            return graph.add("Unsqueeze", [given[0], np.array([options["axis"]])], example)
        raise TypeError(f"{function.__name__} has no counterpart in ONNX here")

    def __getitem__(self, key: tuple[slice, slice]) -> Traced:
        """Columns; all rows."""
        rows, columns = key
        if rows != slice(None) or not isinstance(columns, slice):
            raise TypeError("only columns can be taken of a traced value")
        first, last, _ = columns.indices(self.shape[1])
        bounds = [np.array([bound]) for bound in (first, last, 1)]
        return self.graph.add("Slice", [self, *bounds], self.example[key])


def _example(value: Any) -> Any:
    return value.example if isinstance(value, Traced) else value


def _ndtr(z: Any) -> Any:
    x = np.absolute(z) * math.sqrt(0.5)
    u = 1.0 - 2.0 * ERFCX_MAP_SCALE / (x + ERFCX_MAP_SCALE)
    *rest, result = erfcx_coefficients(_DEGREE)
    for coefficient in reversed(rest):
        result = result * u + coefficient
    tail = 0.5 * result / (1.0 + 2.0 * x) * np.exp(-(x * x))
    return np.where(z < 0.0, tail, 1.0 - tail)


# Without a counterpart of their own; absolute accuracy is what probabilities need.
_COMPOSED: dict[Any, Callable[[Any], Any]] = {
    np.log1p: lambda x: np.log(1.0 + x),
    special.expit: lambda x: 1.0 / (1.0 + np.exp(-x)),
    special.log_expit: lambda x: np.minimum(x, 0.0) - np.log(1.0 + np.exp(-np.absolute(x))),
    special.ndtr: _ndtr,
}


def trace(function: Callable[[Any], Any], example: np.ndarray) -> tuple[Graph, Traced]:
    """The graph of `function`, with the input `rows`, and its result."""
    graph = Graph()
    with np.errstate(all="ignore"):
        return graph, function(Traced(graph, "rows", example))
