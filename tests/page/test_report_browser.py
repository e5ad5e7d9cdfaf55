"""The page in a real browser: it renders, sorts, copies, complains of nothing, and fits a phone and a desktop."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cells = Callable[..., list[Path]]
OVERFLOW = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .hidden, .skip")
  && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
SCROLLS = """[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.querySelector("table, svg"))"""
SCROLLING = f"{SCROLLS}.map(e => e.id)"
# Those with so few columns that they should fit a desktop.
NARROW_SCROLLING = (
    SCROLLS + """.filter(e => e.querySelectorAll("tbody tr:first-child > *").length <= 10).map(e => e.id)"""
)
CUED = """[...document.querySelectorAll(".scroll")].filter(e => e.classList.contains("more")
  && e.nextElementSibling.checkVisibility()).map(e => e.querySelector("table, svg").id)"""
CHARTS = """[...document.querySelectorAll(".chart")].filter(e => e.checkVisibility()).filter(e =>
  e.parentElement.scrollWidth > e.parentElement.clientWidth + 1
  || [...e.querySelectorAll("text")].some(t => t.getBoundingClientRect().height < 10)).map(e => e.ariaLabel)"""
# Where the first cells of a table are, and whether anything of the others shows through them.
FIRST = """(table => { table.closest(".scroll").scrollLeft = 10_000;
  return new Promise(done => requestAnimationFrame(() => {
  const place = table.closest(".scroll").getBoundingClientRect();
  done([...table.querySelectorAll("tbody th")].filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())
    .filter(r => Math.abs(r.left - place.left) > 2 || r.width > 0.45 * place.width).length); })); })"""
# The contrast of each kind of text with what is behind it, by the formula of WCAG 2.
CONTRAST = """(() => {
  const parse = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = {};
  const texts = "p, a, th, td, li, dt, dd, h1, h2, h3, summary, code, button, .tag, small";
  for (const e of document.querySelectorAll(texts)) {
    if (!e.textContent.trim() || !e.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found[`${e.tagName}.${e.className}`] = ratio;
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, cells_maker: Cells) -> Path:
    from gpcnoise_cli.page.html import write_page

    folder = tmp_path_factory.mktemp("page") / "results"
    cells_maker(folder, shift=-0.5)
    cells_maker(folder, kernel="matern52+rbf", splits=(0, 1))
    for path in cells_maker(folder, protocol="clean", shift=-5.0)[:2]:
        path.with_suffix(".failed.json").write_text('{"reason": "no <b>luck</b>", "attempts": 2}')
    (folder / "uci/paper/rbf/magic/step/split-07.json").write_text("{torn")
    out = folder / "report.html"
    write_page(folder, out)
    return out


def column(browser: Any, table: str, index: int) -> list[str]:
    script = f"[...document.querySelector('#{table} tbody').rows].map(row => row.cells[{index}].textContent.trim())"
    return list(browser.run(script))


def test_it_renders_without_a_complaint_and_asks_nobody_for_anything(browser: Any, page: Path) -> None:
    browser.open(page)
    assert browser.run("document.title") == "gpcnoise: results"
    assert browser.run("document.querySelectorAll('table').length") > 8
    assert browser.run("document.querySelector('#cell-table .spark').getBoundingClientRect().width") == 120
    assert browser.run("document.querySelector('details.part[open] .chart').getBoundingClientRect().height") > 100
    assert browser.problems == []


def test_a_click_sorts_and_a_third_one_restores(browser: Any, page: Path) -> None:
    browser.open(page)
    head = "#cell-table th:nth-child(7)"  # acc
    first = column(browser, "cell-table", 6)
    orders = []
    for _ in range(3):
        browser.click(f"{head} button")
        orders.append((browser.run(f"document.querySelector('{head}').ariaSort"), column(browser, "cell-table", 6)))
    numbers = sorted(first, key=float)
    assert orders == [("ascending", numbers), ("descending", numbers[::-1]), ("none", first)]
    assert first != numbers
    assert browser.problems == []


def test_the_keyboard_sorts_texts_and_gaps_come_last(browser: Any, page: Path) -> None:
    browser.open(page)
    table = "part-uci-paper-rbf-uci-acc-against-paper"
    browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    browser.run(f"document.querySelector('#{table} thead tr:last-child th:nth-child(12) button').focus()")
    browser.press("Enter")  # GPCsm, the published figure: NA on the binary sets
    found = column(browser, table, 11)
    numbers = [text for text in found if text != "NA"]
    assert 1 < len(numbers) < len(found)
    assert found == numbers + ["NA"] * (len(found) - len(numbers))
    assert numbers == sorted(numbers, key=float)
    browser.press(" ")
    assert column(browser, table, 11)[: len(numbers)] == numbers[::-1]
    browser.run(f"document.querySelector('#{table} thead tr:last-child th button').focus()")
    browser.press("Enter")
    assert [name.split()[0] for name in column(browser, table, 0)] == sorted(
        name.split()[0] for name in column(browser, table, 0)
    )
    assert browser.run("document.getElementById('said').textContent") == "sorted by set, ascending"


@pytest.mark.parametrize("width", [390, 1280, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_the_width_and_can_be_read(browser: Any, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width=width, dark=dark)
    browser.run("document.querySelectorAll('details:not(.repeat)').forEach(one => one.open = true)")
    browser.run("document.body.classList.add('with-absent')")
    assert browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.run(OVERFLOW) == []
    if width >= 1280:
        assert browser.run(SCROLLING) == [], "no table has to be scrolled on a desktop"
    else:
        assert browser.run(SCROLLING) == browser.run(CUED), "what scrolls says so"
        assert len(browser.run(CUED)) > 3
        assert browser.run(CHARTS) == [], "every chart fits, with letters that can be read"
    assert browser.run(CONTRAST) == {}
    assert float(browser.run("parseFloat(getComputedStyle(document.querySelector('td')).fontSize)")) >= 12
    assert browser.problems == []


def test_on_a_telephone_the_first_column_stays_and_the_cue_goes_at_the_end(browser: Any, page: Path) -> None:
    browser.open(page, width=390)
    browser.run("document.querySelectorAll('details.part').forEach(one => one.open = true)")
    table = "document.getElementById('part-uci-paper-rbf-uci-acc-against-paper')"
    browser.wait_until(f"{table}.closest('.scroll').classList.contains('more')")
    assert browser.run(f"{FIRST}({table})") == 0
    browser.wait_until(f"!{table}.closest('.scroll').classList.contains('more')")


def test_no_marker_of_a_chart_hides_another(browser: Any, page: Path) -> None:
    browser.open(page)
    overlaps = """[...document.querySelectorAll(".glance .chart.wide")].filter(e => e.checkVisibility()).map(chart => {
      const dots = [...chart.querySelectorAll("use")].filter(e => e.querySelector("title"))
        .map(e => e.getBoundingClientRect());
      const hidden = (a, b) => Math.abs(a.x + a.width / 2 - b.x - b.width / 2) < 0.6 * a.width
        && Math.abs(a.y + a.height / 2 - b.y - b.height / 2) < 0.6 * a.height;
      return [dots.length, dots.flatMap((a, i) => dots.slice(i + 1).filter(b => hidden(a, b))).length]; })"""
    found = browser.run(overlaps)
    assert len(found) == 2
    assert all(dots > 10 and hidden == 0 for dots, hidden in found)


def test_the_page_of_a_sweep_fits_and_says_what_was_swept(browser: Any, tmp_path: Path, cells_maker: Cells) -> None:
    from gpcnoise_cli.page.html import write_page

    made = cells_maker(tmp_path / "made", datasets=("ringnorm",))
    (tmp_path / "sweep").mkdir()
    for number, path in enumerate(made):
        path.rename(
            tmp_path / "sweep" / f"optimizer.learning_rate=0.0{number},likelihood=x-0123456789abcde{number}.json"
        )
    write_page(tmp_path / "sweep", tmp_path / "page.html")
    for width in (390, 1280):
        browser.open(tmp_path / "page.html", width=width)
        assert browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert browser.run(OVERFLOW) == []
        assert browser.problems == []
    assert "optimizer.learning_rate, likelihood" in browser.run("document.querySelector('.tiles').textContent")
    assert column(browser, "sweep-0", 1) == ["step", "probit", "logit"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_the_committed_results_fit(browser: Any, tmp_path: Path, width: int) -> None:
    from gpcnoise_cli.page.html import write_page

    write_page(Path(__file__).resolve().parents[2] / "results", tmp_path / "page.html")
    browser.open(tmp_path / "page.html", width=width)
    browser.run("document.querySelectorAll('details:not(.repeat)').forEach(one => one.open = true)")
    assert browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.run(OVERFLOW) == []
    assert width == 390 or browser.run(NARROW_SCROLLING) == []
    assert browser.run(SCROLLING) == browser.run(CUED), "what scrolls says so"


def test_a_command_is_copied_from_a_page_on_disk(browser: Any, page: Path) -> None:
    copied = "document.getElementById('said').textContent === 'copied'"
    browser.open(page)
    browser.allow_clipboard()
    browser.click("#cell-table .repeat summary")
    browser.click("#cell-table .copy")
    browser.wait_until(copied)
    assert browser.run("navigator.clipboard.readText()").startswith("gpcnoise reproduce uci --preset paper")
    # Where the clipboard is refused, the older way does it.
    browser.open(page)
    browser.run("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    browser.click("#cell-table .repeat summary")
    browser.click("#cell-table .copy")
    browser.wait_until(copied)
    assert browser.problems == []


def test_filter_and_empty_sets(browser: Any, page: Path) -> None:
    browser.open(page)
    type_in = "(f => {{ f.value = '{}'; f.dispatchEvent(new Event('input')); }})(document.getElementById('filter'))"
    browser.run(type_in.format("magic probit"))
    shown = "[...document.querySelector('#cell-table tbody').rows].filter(row => !row.hidden).length"
    assert browser.run(shown) == 4
    assert re.fullmatch(r"4 of \d+ cells", browser.run("document.getElementById('filtered').textContent"))
    visible = "[...document.querySelectorAll('details[open] tr.absent')].some(row => row.checkVisibility())"
    assert browser.run(visible) is False
    browser.click("#show-absent")
    assert browser.run(visible) is True


def test_a_link_opens_the_part_it_leads_to(browser: Any, page: Path) -> None:
    browser.open(page)
    closed = "document.querySelector('details.part:not([open]) h2').id"
    anchor = browser.run(closed)
    browser.run(f"location.hash = '{anchor}'")
    browser.wait_until(f"document.getElementById('{anchor}').closest('details').open")


def test_it_prints(browser: Any, page: Path) -> None:
    browser.open(page)
    printed = browser.print_to_pdf()
    assert printed.startswith(b"%PDF")
    assert browser.problems == []


def test_a_run_renders_and_fits(browser: Any, run: Path, tmp_path: Path) -> None:
    from gpcnoise_cli.page.html import write_page

    write_page(run, tmp_path / "page.html")
    for width in (390, 1280):
        browser.open(tmp_path / "page.html", width=width)
        assert browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert browser.run(OVERFLOW) == []
        assert browser.run(CONTRAST) == {}
        assert browser.problems == []
    assert browser.run("document.querySelectorAll('.chart').length") >= 5
    assert browser.run("document.querySelectorAll('#confusion-table tbody tr').length") == 2
