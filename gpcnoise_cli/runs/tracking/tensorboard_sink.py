"""TensorBoard: scalars in event files, which `tensorboard --logdir` shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from gpcnoise_cli.runs.run_folder import RunFolder


class TensorBoardSink:
    """One event file for each part of a run; the parts do not overlap."""

    def __init__(self, folder: Path) -> None:
        self.last_step = last_step(folder)
        self._writer = tf.summary.create_file_writer(str(folder))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        with self._writer.as_default(step):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        self._writer.flush()

    def finish(self, result: Mapping[str, Any], folder: RunFolder) -> None:
        scores = {key: result[key] for key in ("acc", "nll", "brier", "ece") if result.get(key) is not None}
        self.write(int(result["steps"]), {f"final/{key}": value for key, value in scores.items()})

    def close(self, ended: str) -> None:
        self._writer.close()


def last_step(folder: Path) -> int:
    """The largest step in the event files of a folder; the torn end of one that was being written counts as absent."""
    last = -1
    for path in sorted(folder.glob("events.out.tfevents.*")):
        try:
            for record in tf.data.TFRecordDataset(str(path)):
                event = tf.compat.v1.Event.FromString(record.numpy())
                if event.HasField("summary"):
                    last = max(last, int(event.step))
        except tf.errors.DataLossError:
            continue
    return last
