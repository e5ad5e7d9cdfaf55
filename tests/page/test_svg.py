"""Figures inside the page: the same bytes each time, colours of the style sheet, and names that do not meet."""

from __future__ import annotations

import re

from gpcnoise_cli.figures.style import BLUE, drawing, look, new_figure
from gpcnoise_cli.page.svg import inline_svg


def drawn(name: str, told: str = "a line") -> str:
    with drawing():
        figure = new_figure(3.0, 2.0)
        axes = figure.subplots()
        axes.plot([1, 2], [3, 4], **look(1).plot(), gid="dots")
        axes.plot([1, 2], [4, 3], color=BLUE, linestyle="--")
        axes.set_title("<b>& title")
        return inline_svg(figure, name, told, points={"dots": ["<one>", "two"]})


def test_it_is_the_same_every_time() -> None:
    assert drawn("a") == drawn("a")


def test_two_on_a_page_share_no_name_and_refer_to_their_own() -> None:
    for name in "ab":
        names = re.findall(r' id="([^"]*)"', drawn(name))
        assert names
        assert len(names) == len(set(names))
        assert all(one.startswith(f"{name}-") for one in names)
        assert set(re.findall(r"#([^\")]+)[\")]", drawn(name))) == set(names)


def test_colours_and_letters_are_those_of_the_page() -> None:
    svg = drawn("a")
    assert "stroke: var(--accent)" in svg
    assert "fill: var(--warm)" in svg
    assert not re.findall(r"#[0-9a-f]{6}", svg)
    assert "font-family" not in svg
    assert not re.search(r"<(style|metadata)", svg)


def test_text_is_text_and_stays_it() -> None:
    svg = drawn("a", told='"><script>')
    assert ">&lt;b&gt;&amp; title</text>" in svg
    assert "<title>&lt;one&gt;</title>" in svg
    assert "<script>" not in svg
