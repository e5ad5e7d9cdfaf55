#!/usr/bin/env python3
"""Two folders of cells side by side: the mean nll of each set and method over the splits that both have.

scripts/compare-grids.py /elsewhere/results/uci-fast/clean/rbf results/uci-fast/clean/rbf 1 2 3

Without split numbers: all that both have.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean


def cells(folder: Path) -> dict[tuple[str, str, int], float]:
    """The nll of each set, method and split."""
    found = {}
    for path in folder.glob("*/*/split-??.json"):
        dataset, method = path.parts[-3:-1]
        found[dataset, method, int(path.stem.removeprefix("split-"))] = json.loads(path.read_text("utf-8"))["nll"]
    return found


def main(before: str, after: str, *splits: str) -> None:
    old, new = cells(Path(before)), cells(Path(after))
    both = defaultdict(list)
    for key in sorted(old.keys() & new.keys()):
        if not splits or str(key[2]) in splits:
            both[key[:2]].append((old[key], new[key]))
    if not both:
        sys.exit(f"{before} and {after} have no cell in common.")
    print(f"{'set':<20}{'method':<10}{'splits':>7}{'before':>9}{'after':>9}{'change':>9}")
    changes = []
    for (dataset, method), pairs in both.items():
        first, second = mean(pair[0] for pair in pairs), mean(pair[1] for pair in pairs)
        changes.append(second - first)
        print(f"{dataset:<20}{method:<10}{len(pairs):>7}{first:>9.4f}{second:>9.4f}{second - first:>+9.4f}")
    better, worse = sum(one < 0 for one in changes), sum(one > 0.01 for one in changes)
    print(f"lower on {better} of {len(changes)}, higher by more than 0.01 on {worse}; {mean(changes):+.4f} on average")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
