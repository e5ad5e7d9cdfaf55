"""Class names to the letter, and labels found by whichever way a file types them."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from gpcnoise_cli.data.labels import class_numbers, named_classes

MARKERS = ("NA",)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["1", "2", "10"], (1, 2, 10)),
        (["01", "2"], ("01", "2")),
        (["1.5", "2.0"], (1.5, 2.0)),
        (["1.50", "2.0"], ("1.50", "2.0")),
        (["True", "False"], (False, True)),
        (["true", "false"], ("false", "true")),
        ([" a", "a"], (" a", "a")),
    ],
)
def test_a_text_is_a_number_only_if_it_is_written_so(texts: list[str], names: tuple[object, ...]) -> None:
    assert named_classes(Counter(dict.fromkeys(texts, 2)), "y", typed=False) == names


@pytest.mark.parametrize(
    ("names", "labels", "numbers"),
    [
        ((1, 2), ["1", "2.0", " 1 ", "3", "", "NA"], [0, 1, 0, -2, -1, -1]),
        ((False, True), ["true", "FALSE", "True", "1"], [1, 0, 1, 1]),
        (("a", " a"), ["a", " a", "a "], [0, 1, -2]),
        (("a", "b"), [" a", "b "], [0, 1]),
        (("1", "x"), [1, "x", 2], [0, 1, -2]),
    ],
)
def test_labels_are_found(names: tuple[str, ...], labels: list[object], numbers: list[int]) -> None:
    assert class_numbers(pd.Series(labels, dtype=object), names, MARKERS).tolist() == numbers
