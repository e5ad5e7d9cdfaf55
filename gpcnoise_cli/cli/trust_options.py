"""The options that say how far predictions can be trusted, for `predict` and `evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

_PANEL = "How far to trust it"

Sets = Annotated[
    float | None,
    typer.Option(
        "--sets",
        help="For each row a set of classes that holds the true one with this probability, by conformal prediction.",
        metavar="LEVEL",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
FlagFar = Annotated[
    bool,
    typer.Option(
        "--flag-far", help="Mark rows about which the training rows tell the model little.", rich_help_panel=_PANEL
    ),
]
Calibrate = Annotated[
    str | None,
    typer.Option(
        "--calibrate",
        help="Correct the probabilities by the rows held out: beta or venn-abers. Default: as the model gives them.",
        metavar="WAY",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
CostTable = Annotated[
    str | None,
    typer.Option(
        "--costs",
        help="Decide what costs least: JSON {class: {decision: cost}}, or a CSV or JSON file.",
        metavar="JSON|FILE",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
