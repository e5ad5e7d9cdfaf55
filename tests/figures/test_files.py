"""Pictures and numbers are written whole, with the same bytes each time, and read in print."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

from gpcnoise_cli.figures.files import save_figure, write_csv
from gpcnoise_cli.figures.style import CYCLE, drawing, new_figure


def test_saving_twice_gives_the_same_bytes_and_no_rest(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        with drawing():
            figure = new_figure(3.0, 2.0, note="shortened")
            figure.subplots().plot([1, 2], [3, 4])
            save_figure(figure, folder, "x")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["x.pdf", "x.png"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_note_is_in_every_row(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"a": 1.0 / 3.0, "b": None}, {"a": 2, "b": "x"}], note="short, indeed")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0] == {"a": "0.3333333", "b": "", "note": "short, indeed"}
    assert rows[1]["note"] == "short, indeed"


def test_colours_differ_in_brightness_for_readers_who_see_no_hue() -> None:
    from matplotlib.colors import to_rgb

    def brightness(colour: str) -> float:
        red, green, blue = to_rgb(colour)
        return 0.299 * red + 0.587 * green + 0.114 * blue

    first = sorted(brightness(colour) for colour in CYCLE[:4])
    assert all(high - low > 0.03 for low, high in itertools.pairwise(first))
