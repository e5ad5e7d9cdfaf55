"""Tables on disk, in every format, with the critical-difference diagrams beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.files import write_text
from gpcnoise_cli.tables.critical_difference import draw_diagram
from gpcnoise_cli.tables.latex import latex_document
from gpcnoise_cli.tables.render import to_csv, to_markdown, to_text
from gpcnoise_cli.tables.statistics import Comparison
from gpcnoise_cli.tables.table import Table
from gpcnoise_cli.tables.uci_ranks import in_words


def write_tables(
    out: Path, tables: Sequence[Table], comparisons: Mapping[tuple[str, str, str], Comparison] | None = None
) -> None:
    """All tables as tables.md, tables.txt and tables.tex, each as a CSV file; diagrams by protocol, metric and kind."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out}: {error.strerror}; choose another --out.") from error
    write_text(out / "tables.md", "\n".join(to_markdown(table) for table in tables))
    write_text(out / "tables.txt", "\n".join(to_text(table) for table in tables))
    write_text(out / "tables.tex", latex_document(tables))
    for table in tables:
        write_text(out / f"{table.name}.csv", to_csv(table))
    for (protocol, metric, kind), comparison in (comparisons or {}).items():
        title = f"{metric}, {in_words(kind)}, protocol {protocol}"
        draw_diagram(comparison, title, out / f"critical-difference-{protocol}-{metric}-{kind}.png")
