"""The root command: exit codes, one sentence per error, a quick help page, clean streams."""

from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcnoise_cli import __version__
from gpcnoise_cli.cli import console
from gpcnoise_cli.cli.main import app
from gpcnoise_cli.errors import GpcnoiseError

Cli = Callable[..., Any]
RUN = "from gpcnoise_cli.cli.main import run; run()"
HEAVY = ("tensorflow", "gpflow", "hydra", "pandas", "sklearn", "scipy", "matplotlib", "pyarrow")


def python(code: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False, **more
    )


@pytest.fixture
def failing() -> Iterator[Callable[[BaseException], None]]:
    """Mount a verb `fail` that raises what the test wants."""
    wanted: list[BaseException] = []

    def fail() -> None:
        raise wanted[0]

    app.command("fail")(fail)
    yield wanted.append
    app.registered_commands.pop()


def test_version(cli: Cli) -> None:
    assert cli("--version") == (0, f"gpcnoise {__version__}\n", "")


def test_the_package_runs_as_a_module() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "gpcnoise_cli", "train", "--dataset", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("gpcnoise: error: unknown dataset 'nowhere'")


def test_no_command_shows_the_help_as_wrong_usage(cli: Cli) -> None:
    code, stdout, _ = cli()
    assert code == 2
    assert "Usage: gpcnoise" in stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["confg"], "no such command 'confg'. Did you mean 'config'?"),
        (["--nope"], "no such option: --nope; see `gpcnoise --help`."),
        (["config", "--zzz"], "no such option: --zzz; see `gpcnoise config --help`."),
        (["config", "--out"], "option '--out' requires an argument"),
    ],
)
def test_wrong_usage_is_one_sentence(cli: Cli, arguments: list[str], words: str) -> None:
    code, stdout, stderr = cli(*arguments)
    assert (code, stdout) == (2, "")
    assert words in stderr
    assert stderr.startswith("gpcnoise: error: ")
    assert stderr.count("\n") == 1


def test_an_error_of_the_family_is_its_sentence(cli: Cli, failing: Callable[[BaseException], None]) -> None:
    failing(GpcnoiseError("the disk is full; make room."))
    assert cli("fail") == (1, "", "gpcnoise: error: the disk is full; make room.\n")


def test_a_defect_is_named_as_one(cli: Cli, failing: Callable[[BaseException], None]) -> None:
    failing(ValueError("shapes\n  differ."))
    code, stdout, stderr = cli("fail")
    assert (code, stdout) == (1, "")
    assert "defect of gpcnoise" in stderr
    assert "ValueError: shapes differ; run again with --debug" in stderr
    assert stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(
    cli: Cli, failing: Callable[[BaseException], None], arguments: list[str]
) -> None:
    failing(ValueError("x"))
    code, _, stderr = cli(*arguments)
    assert code == 1
    assert "Traceback (most recent call last)" in stderr


def test_debug_by_environment(
    cli: Cli, failing: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(GpcnoiseError("no."))
    monkeypatch.setenv("GPCNOISE_DEBUG", "0")
    assert "Traceback" not in cli("fail").stderr
    monkeypatch.setenv("GPCNOISE_DEBUG", "1")
    assert "Traceback" in cli("fail").stderr


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "runs/x"), "the system refused: Permission denied (runs/x)"),
        (MemoryError(), "out of memory; use fewer inducing points"),
    ],
)
def test_the_machine_saying_no_is_not_called_a_defect(
    cli: Cli, failing: Callable[[BaseException], None], error: Exception, words: str
) -> None:
    failing(error)
    code, _, stderr = cli("fail")
    assert code == 1
    assert words in stderr
    assert "defect" not in stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, "config"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("gpcnoise: error: the system refused: No space left on device")
    assert done.stderr.count("\n") == 1


def test_windows_is_told_at_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert cli("--help") == (
        1,
        "",
        "gpcnoise: error: gpcnoise runs on Linux and macOS only; on Windows, install it in WSL.\n",
    )


def test_interrupt_is_130(cli: Cli, failing: Callable[[BaseException], None]) -> None:
    failing(KeyboardInterrupt())
    code, _, stderr = cli("fail")
    assert code == 130
    assert "Traceback" not in stderr


@pytest.mark.parametrize("arguments", [["--help"], ["config", "--help"], ["--version"], ["config", "--list"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from gpcnoise_cli.cli.main import main; code = main(sys.argv[1:]); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = python(code, *arguments)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_composing_does_not_import_tensorflow() -> None:
    code = "import sys; from gpcnoise_cli.config.compose import compose; compose(); print('tensorflow' in sys.modules)"
    assert python(code).stdout.strip() == "False"


@pytest.mark.slow
def test_training_imports_only_what_it_uses(tmp_path: Path) -> None:
    unused = ["matplotlib", "keras", "mlflow", "tensorboard", "torch", "tensorflow_probability.python.experimental"]
    code = (
        "import gc, sys; from gpcnoise_cli.cli.main import main; code = main(sys.argv[1:]); "
        f"print([name for name in {unused!r} if name in sys.modules], 'gpflow' in sys.modules, gc.isenabled()); "
        "sys.exit(code)"
    )
    done = python(code, "train", "--json", "-m", "10", "--iterations", "2", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[] True True"


def test_works_from_any_folder(tmp_path: Path) -> None:
    done = python(RUN, "config", "likelihood=step", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "name: step" in done.stdout
    assert list(tmp_path.glob("outputs")) == []


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", RUN, "config", "--list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_turns_what_it_cannot_hold_into_null(capsys: pytest.CaptureFixture[str]) -> None:
    console.emit_json({"a": math.nan, "b": [np.float32("inf"), np.int64(3)], "c": Path("x"), "δ": np.arange(2.0)})
    text = capsys.readouterr().out
    assert text.count("\n") == 1
    assert json.loads(text) == {"a": None, "b": [None, 3], "c": "x", "δ": [0.0, 1.0]}


def test_tables_in_a_pipe_are_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(("name", "nll"), [("[red]a", 0.5), ("b" * 200, None)], title="Result")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Result"
    assert lines[2] == "[red]a".ljust(200) + "  0.5"
    assert len(lines) == 4
    assert not any(line != line.rstrip() for line in lines)


def test_messages_go_to_stderr_unwrapped(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("x" * 500 + " [bold]")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "x" * 500 + " [bold]\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [30, 40, 80, 200])
def test_no_figure_is_cut_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    names = [f"score {number}" for number in range(12)]
    rows = [[f"run-{row}", "a long remark about this run", *(f"{row}.{i:04d}" for i in range(12))] for row in range(3)]
    console.print_table(("run", "remark", *names), rows, title="Result")
    text = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("Result") == 1
    assert all(len(re.findall(rf"{name}\b", text)) == 1 for name in names)
    for row in rows:
        assert all(str(value) in text for value in row[2:])
