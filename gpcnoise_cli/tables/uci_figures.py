"""Which methods a UCI table has columns for, and the figure of each on a set.

The columns follow from three things: the published tables, the registry of likelihoods, and the labels in the records.
The paper's own methods (those of its likelihoods) are measured here; another author's method shows the measured
figure where there is one, else the published one, marked as such. A label that the paper does not know has a column as
soon as it is measured; it never keeps the others out of averages and ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean

from gpcnoise_cli.likelihoods.registry import LIKELIHOODS, LikelihoodSpec
from gpcnoise_cli.tables.measured import Figure, Measured
from gpcnoise_cli.tables.published import (
    PAPER_KERNEL,
    PublishedSet,
    published_figures,
    published_labels,
    published_sets,
)
from gpcnoise_cli.tables.table import NOT_APPLICABLE, NOT_COMPUTED

DIGITS = {"acc": 2, "nll": 4}
PAPER_SPLITS = 10
Content = Figure | str  # a figure, or why there is none


def own_methods() -> dict[str, LikelihoodSpec]:
    """The paper's likelihoods by the label that tables have for them."""
    return {label: spec for label, spec in labelled_likelihoods().items() if spec.of_paper}


def labelled_likelihoods() -> dict[str, LikelihoodSpec]:
    """All likelihoods by their label, other authors' too."""
    return {spec.label: spec for spec in LIKELIHOODS.values()}


def paper_methods() -> tuple[str, ...]:
    """The paper's own methods: what every grid is expected to measure."""
    return tuple(label for label in published_labels() if label in own_methods())


def labels_here(*sides: Measured) -> tuple[str, ...]:
    """The paper's own methods, and all else that was measured."""
    return _in_order({*paper_methods(), *(label for one in sides for label in one.labels())})


def labels_beside(metric: str | None, measured: Measured) -> tuple[str, ...]:
    """These, beside other authors' methods with published figures (of one metric, or of any)."""
    found = measured.labels() if metric is None else measured.labels(metric)
    return _in_order({*published_labels(metric), *found})


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """The paper's order, then that of the registry, then that of the alphabet."""
    known = [*published_labels(), *labelled_likelihoods()]
    return tuple(sorted(labels, key=lambda label: (known.index(label) if label in known else len(known), label)))


def content(metric: str, measured: Measured, one: PublishedSet, label: str) -> Content:
    """What stands in the column of a method on the line of a set."""
    found, spec = measured.get(metric, one.name, label), own_methods().get(label)
    if found is not None:
        return found
    if spec is not None:
        return NOT_APPLICABLE if one.binary and not spec.binary_published else NOT_COMPUTED
    published = published_figures(metric, PAPER_KERNEL).get((one.name, label))
    if published is not None:
        return Figure(published, None, PAPER_SPLITS, published=True)
    other = labelled_likelihoods().get(label)
    fits = other is None or other.fits(one.classes)
    return NOT_COMPUTED if fits and label in measured.labels(metric) else NOT_APPLICABLE


def sets_of_kind(binary: bool) -> list[PublishedSet]:
    return [one for one in published_sets() if one.binary == binary]


def complete_sets(metrics: Sequence[str], measured: Measured, binary: bool) -> list[PublishedSet]:
    """The sets of a kind for which each of the paper's methods that applies was measured."""
    return [
        one
        for one in sets_of_kind(binary)
        if all(content(metric, measured, one, label) != NOT_COMPUTED for metric in metrics for label in paper_methods())
    ]


def average(contents: Sequence[Content]) -> Content:
    """The mean of a column, where it has no gap; it counts as published as soon as one of its figures is."""
    figures = [one for one in contents if isinstance(one, Figure)]
    if not figures or len(figures) < len(contents):
        return NOT_COMPUTED if NOT_COMPUTED in contents or not contents else NOT_APPLICABLE
    return Figure(mean(one.mean for one in figures), None, 1, published=any(one.published for one in figures))


def splits_behind(metric: str, measured: Measured, one: PublishedSet) -> str:
    """How many splits are behind the figures of a line: one number where they agree."""
    found = [measured.get(metric, one.name, label) for label in labels_here(measured)]
    counts = [each.splits for each in found if each is not None]
    return "/".join(map(str, counts if len(set(counts)) > 1 else counts[:1])) or NOT_COMPUTED
