"""A table as LaTeX that needs no package, and a document around several of them."""

from __future__ import annotations

from collections.abc import Sequence

from gpcnoise_cli.tables.table import Column, Table, Value, column_groups

_TEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "±": r"$\pm$", "–": "--", "δ": r"$\delta$"}
_TEX |= {"†": r"$^\dagger$", "≤": r"$\le$", "−": "$-$", "×": r"$\times$", "α": r"$\alpha$"}
_TEX |= {"÷": r"$\div$", "…": r"\ldots{}"}
_TEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "{": r"\{", "}": r"\}", "\\": r"\textbackslash{}"}


def tex(content: str) -> str:
    """`content` with everything escaped that LaTeX would read otherwise."""
    return "".join(_TEX.get(character, character) for character in content)


def to_latex(table: Table) -> str:
    """A table environment with lines of the kernel's own, so that any document class takes it."""
    groups = column_groups(table.columns)
    starts = {start for _, start, _ in groups}
    layout = "".join(("|" if i in starts else "") + ("l" if c.left else "r") for i, c in enumerate(table.columns))
    lines = [
        r"\begin{table*}",
        rf"\caption{{{tex(table.title)}.}}",
        rf"\label{{tab:{table.name}}}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\hline",
    ]
    if groups:
        lines.append(_latex_groups(table.columns, groups))
    lines += [_latex_line([tex(column.name) for column in table.columns]), r"\hline"]
    for row in table.rows:
        lines += [r"\hline"] if row.rule else []
        lines.append(_latex_line([_latex_value(value) for value in row.values]))
    lines += [r"\hline", r"\end{tabular}"]
    lines += [rf"\par {tex(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_value(value: Value) -> str:
    return rf"\textbf{{{tex(value.shown)}}}" if value.best else tex(value.shown)


def _latex_groups(columns: Sequence[Column], groups: Sequence[tuple[str, int, int]]) -> str:
    cells, place = [], 0
    for group, start, end in groups:
        cells += [""] * (start - place)
        bar = "|" if start else ""
        cells.append(rf"\multicolumn{{{end - start}}}{{{bar}c}}{{{tex(group)}}}")
        place = end
    return _latex_line(cells + [""] * (len(columns) - place))


def latex_document(tables: Sequence[Table]) -> str:
    """A whole document with the tables, to look at."""
    head = "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[landscape,margin=15mm]{geometry}\n"
    # A page each: LaTeX gives up when too many floats wait for a place.
    pages = "".join(f"{to_latex(table)}\\clearpage\n" for table in tables)
    return f"{head}\\begin{{document}}\n{pages}\\end{{document}}\n"
