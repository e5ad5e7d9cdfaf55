"""`gpcnoise claims --check`: is there still a cell behind every figure that tables, README and docs quote?

Tables: `codecheck.yml` names the command behind each folder of tables. The command's tables are made anew from the
cells, and the files must be these to the letter.

Text: a figure in a line that names a set of the benchmark must be a rounding of a number that some record under
`results/` (or the paper) has for that set; one in a line that names an average ("binary, GPC-I") one that `gpcnoise
claims` has for that. Fenced blocks are the output of the command shown with them, and the page
may repeat figures from there; a paragraph that names a `gpcnoise train` or `sweep` of its own speaks of that run.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from gpcnoise_cli.claims.claim import all_claims
from gpcnoise_cli.claims.judge import judge_all
from gpcnoise_cli.claims.kept import changed_cells
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.grid.request import parse_names
from gpcnoise_cli.tables.published import published_rows, published_sets
from gpcnoise_cli.tables.render import to_csv, to_markdown
from gpcnoise_cli.tables.table import Table
from gpcnoise_cli.tables.uci import KINDS, Request, uci_tables

MANIFEST = "codecheck.yml"
_TABLES_COMMAND = "gpcnoise tables uci"
# Accuracies have two decimals or more, nlls three or more.
_FIGURE = re.compile(r"(?<![\w.])[+−-]?\d+\.\d{2,}(?!\w|\.\d)")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_OWN_RUN = re.compile(r"`gpcnoise (train|sweep|evaluate|bench)\b")


def problems_in(results: Path, documents: Path) -> list[str]:
    """A sentence for each problem: cells first, then tables, then text; `documents` has README, docs and manifest."""
    return [*changed_cells(results), *table_problems(results, documents), *quote_problems(results, documents)]


def table_problems(results: Path, documents: Path) -> list[str]:
    """Lines of `results/tables` that are not what their command writes now."""
    try:
        commands = _table_commands(documents / MANIFEST)
    except GpcnoiseError as error:
        return [str(error)]
    problems = []
    # A folder of tables is known by the file that each has.
    for folder in sorted({path.parent for path in (results / "tables").rglob("tables.md")}):
        inside = f"results/{folder.relative_to(results).as_posix()}"  # as the manifest names it
        if inside not in commands:
            problems.append(f"{inside}: no command in {MANIFEST} writes these tables; name it there")
            continue
        try:
            tables = uci_tables(_request(commands[inside]), results).tables
        except GpcnoiseError as error:
            problems.append(f"{inside}: {error}")
            continue
        problems += _differing(folder, inside, tables, commands[inside])
    return problems


def _differing(folder: Path, inside: str, tables: Sequence[Table], command: str) -> list[str]:
    """A sentence for each file that is one too many, and one for all that differ."""
    wanted = {f"{table.name}.csv": to_csv(table) for table in tables}
    wanted["tables.md"] = "\n".join(to_markdown(table) for table in tables)
    there = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.csv"))}
    there["tables.md"] = (folder / "tables.md").read_text(encoding="utf-8")
    problems = [f"{inside}/{name}: `{command}` does not write it; remove it" for name in there if name not in wanted]
    differ = {name: _first_difference(there.get(name, ""), text) for name, text in wanted.items()}
    stale = [f"{inside}/{name}:{line}" for name, line in differ.items() if line is not None]
    if stale:
        rest = f" and {len(stale) - 1} more files" if len(stale) > 1 else ""
        problems.append(f"{stale[0]}{rest}: not what the cells give now; renew: {command}")
    return problems


def _first_difference(text: str, wanted: str) -> int | None:
    pairs = enumerate(zip_longest(text.splitlines(), wanted.splitlines()), 1)
    return next((number for number, (line, right) in pairs if line != right), None)


def _table_commands(manifest: Path) -> dict[str, str]:
    """The commands of the manifest that write tables, by their folder."""
    import yaml

    try:
        content = yaml.safe_load(manifest.read_text(encoding="utf-8"))
        entries = [str(entry.get("command", "")) for entry in content["manifest"]]
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise GpcnoiseError(f"{manifest.name} is absent or cannot be read ({type(error).__name__})") from error
    found = {}
    for command in entries:
        words = shlex.split(command)
        if command.startswith(_TABLES_COMMAND) and "--out" in words[:-1]:
            found[words[words.index("--out") + 1].rstrip("/")] = command
    return found


def _request(command: str) -> Request:
    words = shlex.split(command)
    options = {word: value for word, value in pairwise(words) if word.startswith("--")}
    return Request(
        parse_names(options["--only"]) if "--only" in options else KINDS,
        options.get("--kernel", "rbf"),
        parse_names(options.get("--preset", "paper")),
        parse_names(options.get("--protocol", "paper")),
        "--against" in options,
    )


def quote_problems(results: Path, documents: Path) -> list[str]:
    """Figures of a set in README and docs that no record has, and averages ("binary, GPC-I") that no claim has."""
    numbers = _numbers_by_set(results, [one.name for one in published_sets()]) | _numbers_of_averages(results)
    pattern = re.compile(r"(?<![\w-])(" + "|".join(sorted(numbers, key=len, reverse=True)) + r")(?![\w-])")
    problems = []
    for page in [documents / "README.md", *sorted((documents / "docs").glob("*.md"))]:
        if page.is_file():
            where, content = page.relative_to(documents).as_posix(), page.read_text(encoding="utf-8")
            shown = {figure for block in _FENCE.findall(content) for figure in _FIGURE.findall(block.replace("+", ""))}
            for number, line in _lines_outside(content):
                named = pattern.findall(line)
                known = [value for name in named for value in numbers[name]]
                quoted = [one for one in _FIGURE.findall(line) if named and one not in shown]
                wrong = [one for one in quoted if not _is_rounding(one, known)]
                if wrong:
                    what = f"{', '.join(wrong)} of {' and '.join(dict.fromkeys(named))}"
                    problems.append(f"{where}:{number}: no cell or record has {what}; mend or remove it")
    return problems


def _lines_outside(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that are neither in a fenced block nor in a paragraph with a run of its own."""
    blank = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    number = 1
    for paragraph in re.split(r"(\n\s*\n)", blank):
        for offset, line in enumerate(paragraph.split("\n")):
            if not _OWN_RUN.search(paragraph):
                yield number + offset, line
        number += paragraph.count("\n")


def _is_rounding(quoted: str, known: Sequence[float]) -> bool:
    value = abs(float(quoted.replace("−", "-")))
    half = 0.5 * 10.0 ** -len(quoted.partition(".")[2])
    return any(abs(abs(one) - value) <= half * 1.001 for one in known)


def _numbers_by_set(results: Path, names: Sequence[str]) -> dict[str, list[float]]:
    """Every number that a record of a set has: cells, figures, benchmarks, and the paper's own."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for row in published_rows():
        if row["value"]:
            found[row["dataset"]].append(float(row["value"]))
    for path in sorted(results.rglob("*.json")):
        if any(part.startswith(".") for part in path.relative_to(results).parts):
            continue
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        _collect(content, found)
    return found


def _numbers_of_averages(results: Path) -> dict[str, list[float]]:
    """What `gpcnoise claims` prints of the averages over sets: published and here, with the standard error."""
    found: dict[str, list[float]] = {}
    for one in judge_all(results, claims=[claim for claim in all_claims() if claim.value and not claim.is_figure]):
        values = [one.claim.value, one.published]
        values += [one.ours.mean, one.ours.error] if one.ours else []
        known = found.setdefault(f"{one.claim.sets}, {one.claim.label}", [])
        known += [value for value in values if value is not None]
    return found


def _collect(content: Any, found: dict[str, list[float]]) -> None:
    """The numbers below every mapping that names a set, by value or by key."""
    if isinstance(content, Mapping):
        for named in {value for value in content.values() if isinstance(value, str)} & found.keys():
            found[named] += _numbers(content)
        for key, value in content.items():
            if key in found:
                found[key] += _numbers(value)
            else:
                _collect(value, found)
    elif isinstance(content, list):
        for one in content:
            _collect(one, found)


def _numbers(content: Any) -> list[float]:
    if isinstance(content, bool):
        return []
    if isinstance(content, int | float):
        return [float(content)]
    inner = content.values() if isinstance(content, Mapping) else content if isinstance(content, list) else ()
    return [number for one in inner for number in _numbers(one)]
