"""The rendered figures of the reproductions, inside the page: PNG as data addresses, up to a limit."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from pathlib import Path

from gpcnoise_cli.figures.catalogue import EXPERIMENTS
from gpcnoise_cli.figures.publish import read_published

LARGEST_BYTES = 1_500_000
ALL_BYTES = 5_000_000
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Picture:
    name: str
    source: str
    width: int
    height: int


@dataclass(frozen=True)
class PictureGroup:
    """One experiment: its pictures and what was found."""

    name: str
    shows: str
    command: str
    note: str
    findings: tuple[str, ...]
    pictures: tuple[Picture, ...]


def read_pictures(
    folder: Path, *, largest: int = LARGEST_BYTES, together: int = ALL_BYTES
) -> tuple[list[PictureGroup], list[str]]:
    """The experiments published below `folder`, and the pictures that were left out, each with the reason."""
    groups, left_out, room = [], [], together
    for name, experiment in EXPERIMENTS.items():
        published = read_published(experiment, folder / name)
        if published is None:
            continue
        pictures = []
        for path in sorted(folder / name / file.name for file in published.files if file.suffix == ".png"):
            try:
                content = path.read_bytes()
            except OSError as error:
                left_out.append(f"{name}/{path.name}: {error.strerror}")
                continue
            if not content.startswith(_PNG) or len(content) < 24:
                left_out.append(f"{name}/{path.name}: it is no PNG")
            elif len(content) > min(largest, room):
                left_out.append(f"{name}/{path.name}: its {len(content) / 1e6:.1f} MB would make the page too large")
            else:
                room -= len(content)
                width, height = struct.unpack(">II", content[16:24])
                source = "data:image/png;base64," + base64.b64encode(content).decode("ascii")
                pictures.append(Picture(path.stem, source, width, height))
        command = f"gpcnoise reproduce {name}"
        groups.append(
            PictureGroup(name, experiment.shows, command, published.note, published.findings, tuple(pictures))
        )
    return groups, left_out
