"""README and docs cannot rot: the commands of README are run, and every command anywhere in docs/ must be accepted.

A block of README is run from top to bottom in an empty folder, each command as `HOW` says: in miniature where the
real one takes minutes. A command that `HOW` does not know fails the test.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from gpcnoise_cli import __version__

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

TINY = ("-m", "8", "--iterations", "3", "--batch-size", "32")
CONFIG = "as `gpcnoise config`: composed and checked, not trained"
HELP = "with --help: the verb and its options must exist"
MAKE = "as `make -n`: the target must exist"
REFUSED = "refused with the sentence that README shows"
SHELL = "as it stands"
NOT_RUN = "installs packages"

HOW: dict[str, Any] = {
    "make demo": MAKE,
    "make test": MAKE,
    "make wheel": MAKE,
    "pip install dist/gpcnoise-*.whl": NOT_RUN,  # tests/config/test_wheel.py builds one and runs it
    "gpcnoise doctor": HELP,
    "gpcnoise train": CONFIG,
    "gpcnoise train --data customers.csv --target churned": CONFIG,
    "gpcnoise train --dataset ringnorm --likelihood probit --kernel matern32 --shared-kernel": CONFIG,
    "gpcnoise train --likelihood step optimizer.learning_rate=0.005": CONFIG,
    "gpcnoise train --method selu --dataset letter": CONFIG,
    "gpcnoise train --data wine.csv --target cultivar --out runs/wine": TINY,
    "gpcnoise predict runs/wine --data new.csv --out classes.csv": (),
    "head -3 classes.csv": SHELL,
    "gpcnoise evaluate runs/wine --data later.csv": (),
    "gpcnoise train optimizer.lr=0.1": REFUSED,
    "gpcnoise data audit magic chess-krvk nursery letter ringnorm": (),
    "gpcnoise reproduce uci --preset fast --protocol clean --splits 0": ("--dry-run",),
    "gpcnoise tables uci --against paper": ("--results", str(REPOSITORY / "results" / "uci-fast")),
    "gpcnoise reproduce errors": (),
    "gpcnoise sweep likelihood=step,probit,logit seed='range(0,3)'": ("--dry-run",),
}


Block = list[tuple[str, list[str]]]
"""The commands of a fenced block, each with the lines that it is shown to print."""


def shell_blocks(text: str) -> Iterator[Block]:
    """`sh` blocks have a command in each line, `console` blocks have theirs after a $."""
    for language, body in FENCE.findall(text):
        commands: Block = []
        for line in body.splitlines():
            if language == "console" and not line.startswith("$ "):
                commands[-1][1].append(line)
            elif language in ("sh", "console") and line.strip():
                commands.append((re.sub(r"\s+# .*", "", line.removeprefix("$ ")).strip(), []))
        if commands:
            yield commands


README_BLOCKS = list(shell_blocks(PAGES[0].read_text(encoding="utf-8")))


@pytest.fixture
def wine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that README's commands read, in the working folder."""
    from sklearn.datasets import load_wine

    loaded = load_wine(as_frame=True)
    names = pd.Series(["Barolo", "Grignolino", "Barbera"])[loaded.target].tolist()
    table = loaded.data.assign(cultivar=names).sample(frac=1.0, random_state=0)
    for name, rows in (("wine", table[:160]), ("new", table[160:].drop(columns="cultivar")), ("later", table[160:])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("wine")
@pytest.mark.parametrize("block", README_BLOCKS, ids=[block[0][0] for block in README_BLOCKS])
def test_the_commands_of_the_readme_run(block: Block, cli: Callable[..., Any]) -> None:
    for command, shown in block:
        assert command in HOW, f"README has a command that no line of HOW says how to run: {command}"
        how, words = HOW[command], shlex.split(command)
        if how == MAKE:
            subprocess.run(["make", "-n", *words[1:]], cwd=REPOSITORY, check=True, capture_output=True)
        elif how == SHELL:
            printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
            assert (len(printed), printed[0]) == (len(shown), shown[0])
        elif how == REFUSED:
            outcome = cli(*words[1:])
            assert (outcome.code, outcome.stderr.splitlines()) == (2, shown)
        elif how != NOT_RUN:
            more = {HELP: ("--help",), CONFIG: ()}.get(how, how)
            verb = "config" if how == CONFIG else words[1]
            outcome = cli(verb, *words[2:], *more)
            assert outcome.code == 0, outcome.stderr


def test_every_line_of_the_table_is_a_command_of_the_readme() -> None:
    assert set(HOW) == {command for block in README_BLOCKS for command, _ in block}


def test_the_python_of_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = FENCE.findall(PAGES[0].read_text(encoding="utf-8"))
    (place,) = (number for number, (language, _) in enumerate(blocks) if language == "python")
    exec(compile(blocks[place][1], "README.md", "exec"), {})
    # Digits may differ in the third place from one processor to the next; what the lines are may not.
    printed, shown = capsys.readouterr().out, blocks[place + 1][1]
    assert re.sub(r"\d\.\d*", "0", printed).split() == re.sub(r"\d\.\d*", "0", shown).split()


def test_the_times_of_a_step_are_those_that_bench_steps_measured() -> None:
    measured = json.loads((REPOSITORY / "results" / "bench" / "steps.json").read_text(encoding="utf-8"))["steps"]
    found = []
    for case in measured:
        times = {system: one["median"] for system, one in case["seconds_per_step"].items()}
        mixed = times["mixed"]
        found.append((f"{1000 * mixed:.1f}", f"{times['stock'] / mixed:.1f}", f"{times['gpytorch'] / mixed:.1f}"))
    line = r"^\| \d+.*(?:latent|kernel).* \| (\S+) ms \| (\S+) times.* \| (\S+) times \|$"
    assert re.findall(line, PAGES[0].read_text(encoding="utf-8"), re.MULTILINE) == found


def commands_of(page: Path) -> list[str]:
    """Every `gpcnoise …` of a page: in code spans, and at the start of the lines of blocks."""
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(body for _, body in FENCE.findall(text))
    prose = FENCE.sub("", text)
    spans = [" ".join(span.split()) for span in re.findall(r"`(gpcnoise [^`]+)`", prose)]
    lines = re.findall(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )?(gpcnoise .*)$", f"{blocks}\n{prose}", re.MULTILINE)
    # Error messages are no commands; a redirection, an alternative or an ellipsis ends one.
    return [re.split(r"\s[|>#…]|…", line)[0] for line in [*spans, *lines] if not line.startswith("gpcnoise: ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_accepted(page: Path, cli: Callable[..., Any]) -> None:
    for command in dict.fromkeys(commands_of(page)):
        outcome = cli(*shlex.split(command)[1:], "--help")
        assert outcome.code == 0, f"{page.name}: {command}: {outcome.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["title"], citation["version"]) == ("gpcnoise", __version__)
    assert citation["preferred-citation"]["title"] in PAGES[0].read_text(encoding="utf-8").replace("\n", " ")
