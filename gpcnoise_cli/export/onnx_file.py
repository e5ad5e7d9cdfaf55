"""A predictor as an ONNX model: `rows` [n, d] in float64, before scaling, to `probabilities` [n, C] and `class` [n].

The description of columns and classes is in the model's metadata, as JSON.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from typing import Any

import numpy as np

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.export.tracing import trace
from gpcnoise_cli.predictor.file import Served

OPSET, IR_VERSION = 18, 9
"""Of 2023: every ONNX Runtime from 1.14 reads them."""


def check_installed() -> None:
    try:
        importlib.import_module("onnx")
    except Exception as error:  # absent, or made for another protobuf than TensorFlow's, which is no ImportError
        found = "is not installed" if isinstance(error, ImportError) else "does not fit the protobuf here"
        raise UsageError(
            f"--format onnx needs the package onnx, which {found}; get it with: pip install 'gpcnoise[onnx]'"
        ) from error


def onnx_bytes(served: Served, description: dict[str, Any]) -> bytes:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    d, classes = len(served.mean), len(served.class_names)
    example = np.tile(served.mean, (2, 1))
    graph, result = trace(lambda rows: served.predictor.block((rows - served.mean) / served.scale), example)
    nodes = [helper.make_node(op, inputs, [name], **attributes) for op, inputs, name, attributes in graph.nodes]
    nodes.append(helper.make_node("Identity", [result.name], ["probabilities"]))
    nodes.append(helper.make_node("ArgMax", ["probabilities"], ["class"], axis=1, keepdims=0))
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "gpcnoise",
            [helper.make_tensor_value_info("rows", TensorProto.DOUBLE, ["n", d])],
            [
                helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["n", classes]),
                helper.make_tensor_value_info("class", TensorProto.INT64, ["n"]),
            ],
            [numpy_helper.from_array(array, name) for name, array in graph.constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="gpcnoise",
    )
    helper.set_model_props(model, {"description": json.dumps(description)})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def run_onnx(content: bytes, rows: np.ndarray) -> tuple[np.ndarray, str]:
    """The probabilities by ONNX Runtime, or by the reference implementation where that is not installed; and which."""
    if importlib.util.find_spec("onnxruntime") is not None:
        import onnxruntime

        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(["probabilities"], {"rows": rows})[0]), "onnxruntime"
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        return np.asarray(ReferenceEvaluator(content).run(["probabilities"], {"rows": rows})[0]), "onnx's reference"
