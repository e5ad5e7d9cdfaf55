"""Small tables and models trained on them once, for the tests of whole commands."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

TINY = ("-m", "12", "--iterations", "8", "--batch-size", "32")


class Run(NamedTuple):
    """A finished run: its folder, and what `train --json` printed."""

    path: Path
    result: dict[str, Any]


class Tables(NamedTuple):
    """CSV files with the target column `kind`; `three` also has a categorical and a true/false feature."""

    two: Path
    three: Path
    whole: Path  # classes 3, 10, 20
    flags: Path  # classes True and False


def three_class_table(n: int = 160, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    height, weight = rng.normal(size=(2, n))
    colour, old = rng.choice(["dark red", "blue"], n), rng.random(n) > 0.5
    kind = np.where(height + (colour == "blue") > 0.5, "very good", np.where(weight > 0, "so, so", "bad"))
    return pd.DataFrame({"height": height, "weight": weight, "colour": colour, "old": old, "kind": kind})


@pytest.fixture(scope="session", autouse=True)
def signals_as_in_a_terminal() -> Iterator[None]:
    """Under nohup or in the background of a script these are ignored, and what a test starts would inherit that."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def new_rows() -> Callable[..., pd.DataFrame]:
    """`new_rows(n=100, seed=1)`: further rows from where those of `tables.three` came."""
    return three_class_table


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    folder = tmp_path_factory.mktemp("tables")
    made = Tables(*(folder / f"{name}.csv" for name in Tables._fields))
    table = three_class_table()
    plain = table[["height", "weight"]]
    codes = table["kind"].map({"very good": 10, "so, so": 20, "bad": 3})
    table.to_csv(made.three, index=False)
    plain.assign(kind=np.where(plain["height"] > 0, "yes", "no thanks")).to_csv(made.two, index=False)
    plain.assign(kind=codes).to_csv(made.whole, index=False)
    plain.assign(kind=plain["weight"] > 0).to_csv(made.flags, index=False)
    return made


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """`trained(table, "--likelihood", "step")`: a tiny model, trained once per test session."""
    from gpcnoise_cli.cli.main import main

    @functools.cache
    def train(table: Path, *options: str) -> Run:
        out = tmp_path_factory.mktemp("runs") / "run"
        printed, messages = io.StringIO(), io.StringIO()
        command = ["train", "--data", str(table), "--target", "kind", *TINY, "--out", str(out), "--json", *options]
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
            code = main(command)
        assert code == 0, messages.getvalue()
        return Run(out, json.loads(printed.getvalue()))

    return train


@pytest.fixture
def refused(cli: Callable[..., Any]) -> Callable[..., None]:
    """Check that a command fails with exit code `code` and one sentence that holds all `words`."""

    def check(code: int, words: list[str], *arguments: object) -> None:
        outcome = cli(*arguments)
        assert outcome.stdout == ""
        *said, last = outcome.stderr.splitlines()
        assert (outcome.code, outcome.stderr[-1]) == (code, "\n")
        assert not said or said[0].split() == [
            "column",
            "kind",
            "missing",
            "levels",
            "used",
        ]  # of a table that was read
        assert last.startswith("gpcnoise: error: ")
        assert last.endswith((".", "?")) or "gpcnoise train --resume" in last
        assert "defect" not in last
        for word in words:
            assert word in last

    return check
