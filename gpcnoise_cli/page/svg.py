"""A figure inside the page: Matplotlib's SVG, with text as text and the colours of the page's style sheet.

The colours follow the reader's light or dark scheme. What is not needed goes, and what is referred to gets a name of
its own, since all pictures of a page share one space of identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from markupsafe import Markup

from gpcnoise_cli.figures.files import picture
from gpcnoise_cli.figures.style import BLACK, BLUE, GREEN, GREY, GRID, PURPLE, VERMILION, WHITE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VARIABLES = {
    BLACK: "--ink", WHITE: "--paper", GREY: "--strong-rule", GRID: "--rule",
    BLUE: "--accent", VERMILION: "--warm", GREEN: "--green", PURPLE: "--violet",
}  # fmt: skip
_COLOURS = {colour.lower(): f"var({variable})" for colour, variable in _VARIABLES.items()}
_LINK = "{http://www.w3.org/1999/xlink}href"


def inline_svg(
    figure: Figure, name: str, told: str, *, points: Mapping[str, Sequence[str]] | None = None, kind: str = ""
) -> Markup:
    """The figure as an element of the page.

    `name` must be the only one of its kind on the page; `told` is for those who do not see the picture; `points` has a
    text for each dot of the lines with these identifiers; `kind` is a class of the style sheet, wide or narrow.
    """
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_visible(False)
    root = ElementTree.fromstring(picture(figure, "svg"))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    for identifier, texts in (points or {}).items():
        dots = [dot for line in root.iter("g") if line.get("id") == identifier for dot in line.iter("use")]
        for dot, text in zip(dots, texts, strict=True):
            ElementTree.SubElement(dot, "title").text = text
    _name_apart(root, name)
    for element in root.iter():
        if "style" in element.attrib:
            element.set("style", _restyled(element.attrib["style"]))
    root.attrib = {
        "class": f"chart {kind}".strip(),
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-label": told,
    }
    return Markup(re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode")))


def _name_apart(root: ElementTree.Element, name: str) -> None:
    """Identifiers stay where something refers to them, and begin with `name`."""
    used: dict[str, str] = {}

    def apart(target: str) -> str:
        return used.setdefault(target, f"{name}-{len(used)}")

    for element in root.iter():
        if _LINK in element.attrib:
            element.set("href", f"#{apart(element.attrib.pop(_LINK).removeprefix('#'))}")
        if "clip-path" in element.attrib:
            element.set("clip-path", f"url(#{apart(element.attrib['clip-path'][5:-1])})")
    for element in root.iter():
        identifier = element.attrib.pop("id", "")
        if identifier in used:
            element.set("id", used[identifier])


def _restyled(style: str) -> str:
    """The page's colours for ours, and its typeface in the size asked for."""
    style = re.sub(r"font: (\d+ )?([\d.]+px) [^;]*", r"font-size: \2", style)
    style = re.sub(r"font-family: [^;]*(; |$)", "", style)
    return re.sub(r"#[0-9a-f]{6}", lambda found: _COLOURS.get(found[0], found[0]), style)
