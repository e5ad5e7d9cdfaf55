"""The classes of a table: their names to the letter, and the number of each row's class.

A text file does not say whether 1 is a number. A name becomes a number, or True or False, only where that is written
exactly as the file has it, so that predictions name the classes to the letter: `01`, `1.50` and `true` stay texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcnoise_cli.data.cell import plain
from gpcnoise_cli.data.split import ClassName
from gpcnoise_cli.errors import GpcnoiseError

if TYPE_CHECKING:
    import pandas as pd

_TRUTH = {"True": True, "False": False}


def present_labels(labels: pd.Series[Any], markers: Collection[str]) -> tuple[NDArray[np.bool_], list[ClassName]]:
    """Which rows have a label, and those labels as they are."""
    values = [plain(value) for value in labels.tolist()]
    empty = labels.isna().to_numpy() | np.array(
        [isinstance(value, str) and (not value.strip() or value.strip() in markers) for value in values], dtype=bool
    )
    return ~empty, [value for value, gap in zip(values, empty, strict=True) if not gap]


def named_classes(counts: Counter[ClassName], target: str, *, typed: bool) -> tuple[ClassName, ...]:
    """The names of the classes, sorted; each needs two rows, one to learn from and one to test."""
    counted = dict(counts) if typed else {_retyped(list(counts))[name]: count for name, count in counts.items()}
    if not counted:
        raise GpcnoiseError(f"target column {target!r} has no value in any row; classes are needed.")
    if len(counted) < 2:
        raise GpcnoiseError(f"target column {target!r} holds a single class, {next(iter(counted))!r}; two are needed.")
    single = [name for name, count in counted.items() if count == 1]
    if single:
        others = f" (and {len(single) - 1} more classes too)" if len(single) > 1 else ""
        number = len(single) > 1 and all(isinstance(name, float) for name in single)
        hint = "is it a number to be predicted rather than a class?" if number else "add rows or merge it with another."
        raise GpcnoiseError(f"class {single[0]!r} of target column {target!r} has a single row{others}; {hint}")
    one_type = len({isinstance(name, str) for name in counted}) == 1
    return tuple(sorted(counted) if one_type else sorted(counted, key=str))


def _retyped(names: list[ClassName]) -> dict[ClassName, ClassName]:
    """Texts as numbers or truth values, where all of them are written as Python writes those."""
    readers: tuple[Callable[[str], ClassName], ...] = (int, float, _TRUTH.__getitem__)
    for read in readers:
        try:
            read_names = {name: read(str(name)) for name in names}
        except (ValueError, KeyError):
            continue
        if all(str(value) == name for name, value in read_names.items()):
            return read_names
    return {name: name for name in names}


def class_numbers(
    labels: pd.Series[Any], class_names: Sequence[ClassName], markers: Collection[str]
) -> NDArray[np.int64]:
    """The number of each label: −1 where it is missing, −2 where there is no such class.

    Found by value, by text, or as the same number written otherwise (1, 1.0, '1'); spaces around a name matter only
    where two classes differ by them.
    """
    by_value: dict[Any, int] = {name: index for index, name in enumerate(class_names)}
    by_text = {str(name): index for index, name in enumerate(class_names)}
    bare = Counter(text.strip() for text in by_text)
    by_bare = {text.strip(): index for text, index in by_text.items() if bare[text.strip()] == 1}
    if set(class_names) <= {True, False} and all(isinstance(name, bool) for name in class_names):
        by_bare |= {text.lower(): index for text, index in by_text.items()}
        by_bare |= {text.upper(): index for text, index in by_text.items()}
    numeric = not any(isinstance(name, str) for name in class_names)

    def find(label: ClassName) -> int:
        index = by_value.get(label, by_text.get(str(label), by_bare.get(str(label).strip(), -2)))
        if index == -2 and numeric:
            try:
                return by_value.get(float(label), -2)
            except ValueError:
                return -2
        return index

    has_label, present = present_labels(labels, markers)
    known = {label: find(label) for label in set(present)}
    y = np.full(len(labels), -1, dtype=np.int64)
    y[has_label] = [known[label] for label in present]
    return y
