"""Which methods a UCI table has columns for, and the figure of each on a set.

The columns follow from three things: the published tables, the registries, and the labels in the records. The paper's
own methods (those of its likelihoods) are measured here. Another author's method has up to two columns: `GPCep†` with
the published figures, and `GPCep` with those measured here, as soon as there are any. So no column is a mixture, and
no average either. A column that is not complete takes no set from the averages of the paper's own methods; where
measured columns are compared with each other, only the sets count that all of them have (`shared`), and on each only
the splits that all of them have (`paired`): from one split to the next a figure moves more than between methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, LikelihoodSpec
from gpcnoise_cli.methods.registry import METHODS, MethodSpec
from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import (
    PAPER_KERNEL,
    PublishedSet,
    published_figures,
    published_labels,
    published_sets,
)
from gpcnoise_cli.tables.statistics import LEAST_SETS
from gpcnoise_cli.tables.table import NOT_APPLICABLE, NOT_COMPUTED

DIGITS = {"acc": 2, "nll": 4}
PAPER_SPLITS = 10
PUBLISHED = "†"
# Measured columns are compared where they share at least this part of the sets that the fullest of them has.
LEAST_SHARED = 1 / 3
Content = Figure | str  # a figure, or why there is none


def own_methods() -> dict[str, LikelihoodSpec]:
    """The paper's likelihoods by the label that tables have for them."""
    return {label: spec for label, spec in labelled_likelihoods().items() if spec.of_paper}


def labelled_likelihoods() -> dict[str, LikelihoodSpec]:
    """All likelihoods by their label, other authors' too."""
    return {spec.label: spec for spec in LIKELIHOODS.values()}


def labelled() -> dict[str, LikelihoodSpec | MethodSpec]:
    """All that can be trained, by its label."""
    return {**labelled_likelihoods(), **{spec.label: spec for spec in METHODS.values() if spec.label is not None}}


def paper_methods() -> tuple[str, ...]:
    """The paper's own methods: what every grid is expected to measure."""
    return tuple(label for label in published_labels() if label in own_methods())


def labels_here(*sides: Measured) -> tuple[str, ...]:
    """The paper's own methods, and all else that was measured."""
    return _in_order({*paper_methods(), *(label for one in sides for label in one.labels())})


def labels_beside(metric: str | None, measured: Measured) -> tuple[str, ...]:
    """These, beside other authors' published columns (of one metric, or of any)."""
    found = measured.labels() if metric is None else measured.labels(metric)
    return _in_order({*published_columns(metric), *paper_methods(), *found})


def published_columns(metric: str | None = None) -> tuple[str, ...]:
    """The columns of other authors' published figures."""
    return tuple(f"{label}{PUBLISHED}" for label in published_labels(metric) if label not in own_methods())


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """The paper's order, a measured column before its published one, then that of the registries and the alphabet."""
    known = [*published_labels(), *labelled()]

    def place(label: str) -> tuple[int, str]:
        plain = label.removesuffix(PUBLISHED)
        return known.index(plain) if plain in known else len(known), label

    return tuple(sorted(labels, key=place))


def content(metric: str, measured: Measured, one: PublishedSet, label: str) -> Content:
    """What stands in a column on the line of a set."""
    if label.endswith(PUBLISHED):
        value = published_figures(metric, PAPER_KERNEL).get((one.name, label.removesuffix(PUBLISHED)))
        return NOT_APPLICABLE if value is None else Figure(value, None, PAPER_SPLITS, published=True)
    found, own, spec = measured.get(metric, one.name, label), own_methods().get(label), labelled().get(label)
    if found is not None:
        return found
    fits = (spec is None or spec.fits(one.classes)) and not (own and one.binary and not own.binary_published)
    return NOT_COMPUTED if fits else NOT_APPLICABLE


def paired(contents: Sequence[Content]) -> list[Content] | None:
    """Measured figures over the splits that all of them have, all else as it is; None where they share no split."""
    measured = [one for one in contents if isinstance(one, Figure) and not one.published]
    common = set.intersection(*(set(one.by_split) for one in measured)) if measured else set()
    if measured and not common:
        return None
    return [
        Figure.of_splits({split: value for split, value in one.by_split.items() if split in common})
        if isinstance(one, Figure) and not one.published
        else one
        for one in contents
    ]


def sets_of_kind(binary: bool) -> list[PublishedSet]:
    return [one for one in published_sets() if one.binary == binary]


def complete_sets(metrics: Sequence[str], measured: Measured, binary: bool) -> list[PublishedSet]:
    """The sets of a kind for which each of the paper's methods that applies was measured."""
    return [
        one
        for one in sets_of_kind(binary)
        if all(content(metric, measured, one, label) != NOT_COMPUTED for metric in metrics for label in paper_methods())
    ]


@dataclass(frozen=True)
class Shared:
    """The measured columns that are compared with each other, and the sets on which all of them have a split."""

    labels: tuple[str, ...] = ()
    sets: tuple[PublishedSet, ...] = ()


def shared(metrics: Sequence[str], measured: Measured, sets: Sequence[PublishedSet]) -> Shared:
    """Of all measured columns, those that share enough of `sets`, and what they share.

    A column that has just been begun would leave next to nothing: those with the fewest sets (then splits) are left out
    until the rest have at least three sets in common, and a third of what the fullest has. A column for two classes
    only (or for more only) has no place where sets of both kinds are compared.
    """
    having = {
        label: [one for one in sets if all(measured.get(metric, one.name, label) for metric in metrics)]
        for label in labels_here(measured)
    }
    kinds = {one.binary for one in sets}
    labels = [label for label in having if {one.binary for one in having[label]} == kinds]
    splits = {
        label: sum(measured.figures[metrics[0], one.name, label].splits for one in having[label]) for label in labels
    }
    labels.sort(key=lambda label: (-len(having[label]), -splits[label]))
    while labels:
        common = tuple(
            one
            for one in sets
            if all(one in having[label] for label in labels)
            and all(paired_line(metric, measured, one, labels) for metric in metrics)
        )
        least = max(LEAST_SETS, LEAST_SHARED * len(having[labels[0]]))
        if len(common) >= least and {one.binary for one in common} == kinds:
            return Shared(_in_order(labels), common)
        labels.pop()
    return Shared()


def paired_line(metric: str, measured: Measured, one: PublishedSet, labels: Sequence[str]) -> dict[str, Content]:
    """The columns of a set, measured ones over the splits that all of them have; empty where they share none."""
    found = paired([content(metric, measured, one, label) for label in labels])
    return {} if found is None else dict(zip(labels, found, strict=True))


def average(contents: Sequence[Content]) -> Content:
    """The mean of a column, where it has no gap."""
    figures = [one for one in contents if isinstance(one, Figure)]
    if not figures or len(figures) < len(contents):
        return NOT_COMPUTED if NOT_COMPUTED in contents or not contents else NOT_APPLICABLE
    return Figure(mean(one.mean for one in figures), None, 1, published=any(one.published for one in figures))


def splits_behind(metric: str, measured: Measured, one: PublishedSet) -> str:
    """How many splits are behind the figures of a line: one number where they agree."""
    return counted(measured.get(metric, one.name, label) for label in labels_here(measured))


def counted(figures: Iterable[Content | None]) -> str:
    """The splits of each figure: one number where they agree."""
    counts = [one.splits for one in figures if isinstance(one, Figure)]
    return "/".join(map(str, counts if len(set(counts)) > 1 else counts[:1])) or NOT_COMPUTED
