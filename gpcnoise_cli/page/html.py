"""The page as text and as a file: templates, style and script of this package put together, every value escaped."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpcnoise_cli import __version__
from gpcnoise_cli.errors import UsageError, quoted
from gpcnoise_cli.figures.run_view import is_run_folder
from gpcnoise_cli.files import write_text
from gpcnoise_cli.page.results_page import ResultsPage, results_page
from gpcnoise_cli.page.run_page import RunPage, run_page

GENERATOR = "gpcnoise report"
NAME = "report.html"
ENDINGS = (".html", ".htm")
_HEAD_BYTES = 2000


@dataclass(frozen=True)
class Written:
    bytes: int
    trouble: str  # what could not be shown, and why


def render(template: str, page: ResultsPage | RunPage) -> str:
    """The page as text."""
    environment = Environment(
        loader=PackageLoader("gpcnoise_cli.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        page=page,
        generator=GENERATOR,
        version=__version__,
        command=f"gpcnoise report {quoted(page.told)}",
        style=Markup(_read("page.css")),
        script=Markup(_read("page.js")),
    )


def _read(name: str) -> str:
    return (importlib.resources.files("gpcnoise_cli.page") / "templates" / name).read_text("utf-8")


def check_folder(folder: Path) -> None:
    """Refuse what cannot be shown at all."""
    if not folder.exists():
        raise UsageError(
            f"there is no folder {str(folder)!r}; give a results folder (of `gpcnoise reproduce` or `sweep`) or a run "
            "folder (of `gpcnoise train`)."
        )
    if not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is a file; give the folder it is in.")


def check_target(out: Path, *, force: bool) -> None:
    """Refuse to write another kind of file, and to replace anything but an earlier page of ours."""
    if out.is_dir():
        raise UsageError(f"--out {str(out)!r} is a folder; name a file, such as {str(out / NAME)!r}.")
    if out.suffix.lower() not in ENDINGS:
        hint = "; to have a PDF, open the page in a web browser and print it" if out.suffix.lower() == ".pdf" else ""
        raise UsageError(f"--out {str(out)!r}: the page is HTML, so its name must end in .html{hint}.")
    if not out.parent.is_dir():
        raise UsageError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}; make it first.")
    if out.exists() and not force and not is_report(out):
        raise UsageError(
            f"{str(out)!r} exists and is no page of `gpcnoise report`; choose another --out or replace it with --force."
        )


def is_report(path: Path) -> bool:
    with path.open("rb") as stream:
        return f'<meta name="generator" content="{GENERATOR}">'.encode() in stream.read(_HEAD_BYTES)


def write_page(folder: Path, out: Path) -> Written:
    """Gather, render and write the page."""
    run = is_run_folder(folder)
    page = run_page(folder) if run else results_page(folder)
    text = render("run.html" if run else "results.html", page)
    write_text(out, text)
    return Written(len(text.encode()), page.trouble)
