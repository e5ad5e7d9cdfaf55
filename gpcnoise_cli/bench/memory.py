"""The largest memory that a fit through `GPCNoiseClassifier` takes, measured in a process that does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from gpcnoise_cli.errors import GpcnoiseError, UsageError


def measure_memory(rows: int, columns: int, iterations: int | None = None) -> dict[str, Any]:
    """Fit generated data of this size in a child; peak resident memory in MB, seconds, and how good the fit was."""
    if rows < 10 or columns < 1:
        raise UsageError(f"{rows} rows by {columns} columns are too few to fit; try --rows 100000 --columns 20.")
    command = [sys.executable, "-m", __name__, str(rows), str(columns), *([str(iterations)] if iterations else [])]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise GpcnoiseError(f"fitting {rows} rows by {columns} columns failed: {reason}.")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(rows: int, columns: int, iterations: int | None = None) -> None:
    """The child: three classes that overlap a little, told apart by a curved boundary."""
    import resource

    import numpy as np

    from gpcnoise_cli.estimator.classifier import GPCNoiseClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    score = X[:, 0] + np.sin(2 * X[:, -1]) + 0.3 * rng.normal(size=rows)
    y = np.digitize(score, [-0.6, 0.6])
    began = time.perf_counter()
    classifier = GPCNoiseClassifier(random_state=0, iterations=iterations).fit(X, y)
    fit_seconds = time.perf_counter() - began
    acc = 100.0 * classifier.score(X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    found = {"rows": rows, "columns": columns, "classes": 3, "steps": classifier.n_iter_}
    sizes = {"inducing": classifier.n_inducing_, "fit_seconds": fit_seconds, "train_acc": acc, "peak_mb": peak}
    print(json.dumps({**found, **sizes}))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
