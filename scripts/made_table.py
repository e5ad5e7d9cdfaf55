"""Write a made table of any length as Parquet files: `python scripts/made_table.py FOLDER ROWS COLUMNS`.

Three classes that depend on a few of the columns, with noise; the same rows every time. Each file holds a million rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE_ROWS, CHUNK = 1_000_000, 100_000


def chunk(number: int, rows: int, columns: int) -> pa.Table:
    random = np.random.default_rng([2024, number])
    X = random.normal(size=(rows, columns)).astype(np.float32)
    scores = np.stack([np.sin(X[:, 0]) + X[:, 1] * X[:, 2], 2 * np.cos(X[:, 3]) - 1, X[:, 4]], axis=1)
    labels = np.array(["a", "b", "c"])[(scores + random.gumbel(scale=0.3, size=scores.shape)).argmax(axis=1)]
    return pa.table({**{f"x{j}": X[:, j] for j in range(columns)}, "kind": labels})


def main(folder: str, rows: str, columns: str) -> None:
    target, n, d = Path(folder), int(rows), int(columns)
    target.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, n, FILE_ROWS)):
        last = min(first + FILE_ROWS, n)
        starts = range(first, last, CHUNK)
        parts = (chunk(start // CHUNK, min(CHUNK, last - start), d) for start in starts)
        head = next(parts)
        with pq.ParquetWriter(target / f"part-{number:04d}.parquet", head.schema) as writer:
            writer.write_table(head)
            for part in parts:
                writer.write_table(part)


if __name__ == "__main__":
    main(*sys.argv[1:])
