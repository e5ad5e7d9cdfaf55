"""Cells are bundled into jobs that are worth queueing for, and jobs into arrays of about the same wall time."""

from __future__ import annotations

import pytest

from gpcnoise_cli.config.compose import compose
from gpcnoise_cli.grid.cell import Cell
from gpcnoise_cli.grid.cost import Estimate, Estimator
from gpcnoise_cli.grid.runners.slurm_job import JOB_SECONDS, LEAST_MINUTES, Bundle, arrays_of, bundled

CONFIG = compose([])


class Told(Estimator):
    """Each cell takes as many seconds as its name says."""

    def estimate(self, cell: Cell) -> Estimate:
        return Estimate(float(cell.name.partition(":")[2]), "told")


def cells(*seconds: float) -> list[Cell]:
    return [Cell(f"{number}:{one}", str(number), CONFIG) for number, one in enumerate(seconds)]


def test_short_cells_share_jobs_and_long_ones_have_their_own() -> None:
    bundles = bundled(cells(*[60.0] * 60, 7200.0, 7200.0), Told())
    assert len(bundles) == 4
    assert [len(one.cells) for one in bundles] == [1, 1, 30, 30]
    assert [one.seconds for one in bundles] == [7200.0, 7200.0, JOB_SECONDS, JOB_SECONDS]


def test_every_cell_is_in_exactly_one_job() -> None:
    asked = cells(*range(1, 400, 7))
    found = [cell for bundle in bundled(asked, Told(), at_least=5) for cell in bundle.cells]
    assert sorted(found, key=asked.index) == asked


@pytest.mark.parametrize(("least", "most", "jobs"), [(1, None, 1), (2, None, 2), (9, None, 3), (2, 2, 2)])
def test_workers_that_are_asked_for_get_a_job_each_as_far_as_there_are_cells(
    least: int, most: int | None, jobs: int
) -> None:
    assert len(bundled(cells(5.0, 5.0, 5.0), Told(), least, most)) == jobs


def test_an_array_has_jobs_within_a_factor_of_two_and_time_enough_for_each() -> None:
    bundles = [Bundle((), seconds) for seconds in (10.0, 900.0, 1800.0, 2000.0, 100_000.0)]
    arrays = arrays_of(bundles)
    assert sum(map(len, arrays.values())) == len(bundles)
    for wall_time, those in arrays.items():
        assert all(
            wall_time / 2 < max(one.minutes, LEAST_MINUTES) <= wall_time or wall_time == LEAST_MINUTES for one in those
        )
        assert all(60 * wall_time >= 3 * one.seconds for one in those)
    assert len(arrays) == 4
