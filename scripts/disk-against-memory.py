"""The time of a training step on rows from disk, and on the same rows in memory, in one process, turn by turn.

`python scripts/disk-against-memory.py FOLDER [STEPS [OVERRIDES]]`, where FOLDER holds a table with the target `kind`,
as `scripts/made_table.py` writes it. The table must fit the memory for this; `--disk` measures the disk alone.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.data import load_split
from gpcnoise_cli.runtime import prepare


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: list[str]) -> None:
    alone = "--disk" in arguments
    folder, steps, *overrides = [one for one in arguments if one != "--disk"] + [""] * (len(arguments) < 2)
    config = compose([*filter(None, overrides)])
    began = time.perf_counter()
    disk = load_split("file", path=folder, target="kind", storage="disk")
    print(f"{disk.n_train} rows x {disk.d}: ready after {time.perf_counter() - began:.1f} s, peak {peak():.0f} MB")
    prepare(config.runtime)
    from gpcnoise_cli.methods.svgp import METHOD
    from gpcnoise_cli.models.build import precision_context
    from gpcnoise_cli.training.progress import Progress
    from gpcnoise_cli.training.trainer import Trainer

    print(f"with TensorFlow: peak {peak():.0f} MB")
    trainers = {}
    memory = None if alone else replace(disk, X_train=np.array(disk.X_train), y_train=disk.y_train, store=None)
    for name, split in (("disk", disk), ("memory", memory)):
        if split is not None:
            with precision_context(config.runtime.precision):
                model = METHOD.build(config, disk)
                model.likelihood.prepare(disk.class_counts())
                trainers[name] = Trainer(config, model, split, Progress())
                trainers[name].loop.run_until(5)  # compiles
    print(f"compiled: peak {peak():.0f} MB")
    rounds, seconds = 4, dict.fromkeys(trainers, 0.0)
    for number in range(1, rounds + 1):
        for name, trainer in trainers.items():
            began = time.perf_counter()
            trainer.loop.run_until(5 + number * (int(steps or 400) // rounds))
            seconds[name] += time.perf_counter() - began
    for name, trainer in trainers.items():
        print(f"{name}: {1e3 * seconds[name] / (trainer.step - 5):.2f} ms a step over {trainer.step - 5} steps")
    print(f"peak {peak():.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
