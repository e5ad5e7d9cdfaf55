"""stdin, stdout and stderr as shells hand them over: closed, for ASCII only, full, or with a reader that goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = "from gpcnoise_cli.cli.main import run; run()"
ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def shell(redirection: str, *arguments: str, code: str = RUN, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command line with its streams redirected as a shell does."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", code, *arguments],
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["config", "--list"], ["config", "--json"]])
def test_a_closed_stdout_is_like_dev_null(arguments: list[str]) -> None:
    done = shell(">&-", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_with_a_closed_stderr_results_and_codes_are_the_same() -> None:
    assert shell("2>&-", "config", "inducing=7").stdout == shell("", "config", "inducing=7").stdout
    wrong = shell("2>&-", "config", "bad=1")
    assert (wrong.returncode, wrong.stdout) == (2, b"")


def test_all_streams_closed() -> None:
    assert shell("<&- >&- 2>&-", "config").returncode == 0
    assert shell("<&- >&- 2>&-", "nonsense").returncode == 2


def test_no_file_is_opened_under_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    code = (
        "import os, sys; from gpcnoise_cli.cli.streams import prepare_streams; prepare_streams(); "
        "number = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(number, str(number).encode())"
    )
    assert shell("<&- >&- 2>&-", str(tmp_path / "number"), code=code).returncode == 0
    assert int((tmp_path / "number").read_text()) > 2


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["config", "--help"], ["data", "list"]])
def test_an_ascii_terminal_gets_words_for_letters_that_it_does_not_have(arguments: list[str]) -> None:
    done = shell("", *arguments, **ASCII)
    assert (done.returncode, b"defect" in done.stderr) == (0, False)
    assert done.stdout.isascii()
    if arguments == ["train", "--help"]:
        assert b"label noise delta" in done.stdout


def test_an_error_on_an_ascii_terminal_is_still_its_sentence() -> None:
    done = shell("", "config", "--dataset", "wäveform", **ASCII)
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpcnoise: error: unknown dataset")
    assert done.stderr.count(b"\n") == 1


def test_tables_for_programs_are_utf8_on_every_terminal() -> None:
    code = (
        "from gpcnoise_cli.cli.streams import prepare_streams; prepare_streams(); "
        "from gpcnoise_cli.cli.console import emit_data, emit_json; emit_data('class\\nm\\xfcnchen\\n'); "
        "print('\\u03b4 \\xb1 1, \\u4e2d'); emit_json({'\\u03b4': '\\xfc'})"
    )
    done = shell("", code=code, **ASCII)
    assert done.stderr == b""
    assert done.stdout == "class\nmünchen\n".encode() + b'delta +/- 1, \\u4e2d\n{"\\u03b4": "\\u00fc"}\n'


def test_a_file_name_that_is_no_text_is_printed_as_it_is() -> None:
    code = (
        "import os; from gpcnoise_cli.cli.streams import prepare_streams; prepare_streams(); "
        "print(os.fsdecode(b'caf\\xe9.csv'))"
    )
    assert shell("", code=code, PYTHONIOENCODING="utf-8").stdout == b"caf\xe9.csv\n"


@pytest.mark.parametrize("which", ["1", "2"])
def test_a_reader_that_leaves_does_not_end_the_work(tmp_path: Path, which: str) -> None:
    code = (
        "import sys; from pathlib import Path; from gpcnoise_cli.cli.streams import prepare_streams, reader_gone\n"
        "prepare_streams(); stream = {'1': sys.stdout, '2': sys.stderr}[sys.argv[1]]\n"
        "for number in range(200): print('x' * 1000, file=stream, flush=True)\n"
        "Path(sys.argv[2]).write_text(str(reader_gone()))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", code, which, str(tmp_path / "end")],
        **{"stdout" if which == "1" else "stderr": writer, "stderr" if which == "1" else "stdout": subprocess.PIPE},
        check=False,
    )
    os.close(writer)
    assert done.returncode == 0
    assert (done.stderr if which == "1" else done.stdout) == b""
    assert (tmp_path / "end").read_text() == str(which == "1")


def test_the_first_line_of_a_listing_is_no_failure() -> None:
    # Longer than a pipe holds, so that the listing is still being written when `head` has gone.
    code = (
        "from gpcnoise_cli.cli import config; from gpcnoise_cli.cli.main import run\n"
        "config.choices = lambda group: ['x' * 50_000]\n"
        "run()"
    )
    script = '"$@" | head -1 >&2; exit "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, "-c", code, "config", "--list"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.split()) == (0, [b"group", b"choices"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_messages_that_find_no_room_are_dropped() -> None:
    done = shell("2>/dev/full", "data", "list")
    assert (done.returncode, done.stdout.split()[0]) == (0, b"name")
    assert shell("2>/dev/full", "config", "bad=1").returncode == 2


@pytest.mark.slow
def test_head_does_not_stop_a_training(tmp_path: Path) -> None:
    command = ["train", "--dataset", "twonorm", "-m", "5", "--iterations", "4", "runtime.eval_every=1", "--out"]
    script = '"$@" 2>&1 | head -1; exit "${PIPESTATUS[0]}"'
    program = [sys.executable, "-c", RUN, *command, str(tmp_path / "run")]
    done = subprocess.run(["bash", "-c", script, "bash", *program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "training: steps 0 to 4\n")
    assert (tmp_path / "run" / "metrics.json").is_file()
