"""Two hundred calls that nobody means well: any verb, any option, any value, any file. Each ends in a sentence.

The calls are drawn from the program's own verbs and options, so a new one is tried without being named here. Nothing
is trained, measured, downloaded or opened in a browser: what would be is stopped where it begins. A failing call is
printed as one would type it.
"""

from __future__ import annotations

import io
import json
import random
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import typer

from gpcnoise_cli.cli.main import app, main
from gpcnoise_cli.cli.streams import ERRORS
from gpcnoise_cli.config.compose import compose, to_yaml
from gpcnoise_cli.errors import GpcnoiseError

QUICK, ALL = 40, 200
WORK = (
    "runs.train.run_training",
    "cli.figures._published",
    "data.fetch.fetch_sets",
    "bench.timing.time_training",
    "bench.quality.measure_quality",
    "bench.classifiers.measure_classifiers",
    "bench.real_tables.measure_tables",
    "bench.command.measure_command",
    "bench.grid.measure_grid",
    "bench.memory.measure_memory",
    "doctor.examine",
    "grid.campaign.Campaign.run",
)
TEXTS = (
    *(
        "",
        " ",
        "-1",
        "0",
        "3",
        "nan",
        "-inf",
        "1e999",
        "9" * 400,
        "true",
        "null",
        "x",
        "ä",
        "\udcff",
        "\n",
        "a\tb",
        "[red]",
    ),
    *(
        "=1+1",
        "a,b",
        "a,,b",
        ",",
        "0-9",
        "9-0",
        "0-999999",
        "1/0",
        "2/1",
        "'",
        '"',
        "{",
        "[1,2",
        "${x}",
        "${oc.env:HOME}",
    ),
    *("%s", "\\", "../x", "~", "*", "kind", "softmax", "sofmax", "rbf", "paper", "fast", "json", "csv", "x" * 3000),
    *("results", "here/none.csv", "out.html", "out.npz", "out.csv", "out.parquet", "out.pdf", "new folder"),
)
OVERRIDES = (
    *(
        "inducing=0",
        "inducing=",
        "=3",
        "inducing",
        "inducing=3",
        "+inducing=3",
        "~inducing",
        "kernel@x=rbf",
        "seed=1e9",
    ),
    *("split=range(0,1000000000)", "split=range(0,0)", "split=0,0,0", "inducing=interval(0,1)", "kernel=glob(m*)"),
    *("runtime.threads=100000", "iterations=9999999999999999999", "optimizer.learning_rate=nan", "dataset.path=t.csv"),
    *(
        "likelihood=probit",
        "method=selu",
        "method=nothing",
        "method.settings.x=1",
        "dataset=file",
        "out=''",
        "preset=paper",
    ),
)


def _files(folder: Path, run: Path) -> list[str]:
    """Files and folders of every unfriendly kind; the names are relative to `folder`."""
    rows = "".join(f"{x:.3f},{y:.3f},{'ab'[int(x > 0)]}\n" for x, y in np.random.default_rng(0).normal(size=(60, 2)))
    contents: dict[str, bytes] = {
        "t.csv": f"height,weight,kind\n{rows}".encode(),
        "empty.csv": b"",
        "header.csv": b"height,weight,kind\n",
        "binary.csv": bytes(range(256)) * 4,
        "ragged.csv": b"height,weight,kind\n1,2,a\n1\n1,2,3,4,5\n",
        "nul.csv": b"height,weight,kind\n1,\0,a\n",
        "one.csv": b"height,weight,kind\n1,2,a\n",
        "formula.csv": b"height,weight,kind\n" + b"1,2,=1+1\n3,4,@x\n" * 20,
        "twice.csv": b"height,height,kind\n" + b"1,2,a\n3,4,b\n" * 20,
        "large.csv": b"height,weight,kind\n" + b"1e400,2,a\n3,4,b\n" * 20,
        "fake.parquet": b"PAR1 not really PAR1",
        "fake.csv.gz": b"\x1f\x8b not really",
        "fake.npz": b"PK\x03\x04 cut short",
        "fake.tar.gz": b"\x1f\x8b\x08\0 cut short",
        "cell.json": b'{"acc": 90, "nll": "x", "digest": [], "curve": 3}',
        "list.json": b"[1, 2]",
        "names ä (1).csv": "größe,kind\n1,a\n2,b\n".encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder.csv").mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "dangling").symlink_to("nowhere")
    results = folder / "results" / "uci-fast" / "paper" / "rbf" / "magic" / "step"
    results.mkdir(parents=True)
    (results / "split-00.json").write_text('{"digest": "x", "acc": null, "nll": {}, "dataset": 3}')
    (results / "split-01.json").write_text("{torn")
    (folder / "results" / "bench").mkdir()
    (folder / "results" / "bench" / "steps.json").write_text('{"machine": 3, "steps": [{}]}')
    damage: dict[str, dict[str, str]] = {
        "unfinished": {},
        "torn": {"metrics.json": "{", "curve.csv": "step\nx", "model.json": "{}", "checkpoint.npz": "PK"},
        "odd": {"metrics.json": '{"acc": 1, "nll": 2}', "model.json": "[]", "model.npz": ""},
    }
    for name, files in damage.items():
        (folder / name).mkdir()
        (folder / name / "config.yaml").write_text(to_yaml(compose()))
        for file, content in files.items():
            (folder / name / file).write_text(content)
    (folder / "no config").mkdir()
    (folder / "no config" / "config.yaml").write_text("inducing: [")
    (folder / "run").symlink_to(run)
    return [str(path.relative_to(folder)) for path in sorted(folder.iterdir())]


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb with its parameters."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _leaves(child, (*path, name))


class Calls:
    """Calls drawn by chance; the same for the same seed."""

    def __init__(self, files: list[str], seed: int) -> None:
        self.files, self.chance = files, random.Random(seed)
        self.verbs = list(_leaves(typer.main.get_command(app)))

    def one(self) -> list[str]:
        path, command = self.chance.choice(self.verbs)
        words: list[str] = []
        # --debug shows tracebacks, and completion is written into the start-up files of the user's shell.
        known = [one for one in command.params if one.name not in ("debug", "install_completion", "show_completion")]
        for parameter in self.chance.sample(known, min(len(known), self.chance.randint(0, 4))):
            words += self._given(parameter)
        if self.chance.random() < 0.6:  # an argument that may be needed to come any further
            words += [word for one in command.params if one.param_type_name == "argument" for word in self._given(one)]
        if "sweep" in path or "train" in path:
            words += ["--data", "t.csv", "--target", "kind"] if self.chance.random() < 0.5 else []
        if self.chance.random() < 0.1:
            words.insert(
                self.chance.randint(0, len(words)), self.chance.choice(["--", "--nope", "-", "--debug=", "-x3"])
            )
        return [*path, *words]

    def _given(self, parameter: Any) -> list[str]:
        if parameter.param_type_name == "argument":
            return [self._value() for _ in range(self.chance.randint(1, 2) if parameter.nargs == -1 else 1)]
        flag = self.chance.choice([*parameter.opts, *parameter.secondary_opts])
        return [flag] if parameter.is_flag or self.chance.random() < 0.05 else [flag, self._value()]

    def _value(self) -> str:
        kind = self.chance.random()
        return self.chance.choice(self.files if kind < 0.45 else TEXTS if kind < 0.8 else OVERRIDES)


def _stopped(*arguments: Any, **more: Any) -> NoReturn:
    raise GpcnoiseError("the test stops here, before the work.")


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: Callable[..., Any], tables: Any
) -> Callable[[int, int], list[str]]:
    """`world(seed, number)`: make so many calls and return what was wrong with them."""
    run = trained(tables.two).path
    for name in WORK:
        monkeypatch.setattr(f"gpcnoise_cli.{name}", _stopped)
    monkeypatch.setattr("webbrowser.open", _stopped)
    monkeypatch.setenv("HOME", str(tmp_path))  # no call may reach the user's own files

    def attempt(seed: int, number: int) -> list[str]:
        here = tmp_path / "here"
        here.mkdir()
        monkeypatch.chdir(here)
        calls = Calls(_files(here, run), seed)
        wrong = []
        for _ in range(number):
            words = calls.one()
            encoding = calls.chance.choice(["utf-8", "utf-8", "ascii"])
            trouble = _trouble(words, encoding, monkeypatch)
            if trouble:
                wrong.append(f"gpcnoise {shlex.join(words)[:300]}  [{encoding}]\n    {trouble}")
        left = [str(path) for path in here.rglob("*.tmp")]
        return wrong + ([f"left behind: {left}"] if left else [])

    return attempt


def _trouble(words: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch) -> str:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, ERRORS, write_through=True) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main(words)
    stdout, stderr = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))  # type: ignore[attr-defined]
    if code not in (0, 1, 2):
        return f"exit code {code}: {stderr}"
    if "Traceback" in stderr or "defect" in stderr:
        return stderr.strip()[-600:]
    if code and not stdout and not stderr.splitlines()[-1:]:
        return f"exit code {code} and not a word"
    if code == 0 and "--json" in words and not {"--help", "-h"} & {*words}:
        json.loads(stdout)
    return ""


def test_forty_hostile_calls_end_in_sentences(world: Callable[[int, int], list[str]]) -> None:
    assert world(20, QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_two_hundred_hostile_calls_end_in_sentences(world: Callable[[int, int], list[str]], seed: int) -> None:
    wrong = world(seed, ALL)
    assert not wrong, "\n".join(wrong)
