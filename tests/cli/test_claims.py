"""`gpcnoise claims` and `gpcnoise claims ablate` as whole commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.claims.ablations import ABLATIONS
from gpcnoise_cli.claims.claim import all_claims

Cli = Callable[..., Any]
REPOSITORY = Path(__file__).parents[2]
Cells = Callable[..., list[Path]]


@pytest.fixture(autouse=True)
def results(tmp_path: Path, uci_cells: Cells, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for label, nll in (("GPC-I", 0.3971), ("GPC-II", 0.60)):
        uci_cells("adult", label, [(85.5 + 0.01 * k, nll + 0.001 * k) for k in range(5)])
    uci_cells("twonorm", "GPC-I", [(97.4, 0.09)])
    return tmp_path / "results"


def test_the_table_has_every_claim_in_120_columns_and_the_counts(cli: Cli) -> None:
    code, stdout, stderr = cli("claims")
    assert (code, stderr) == (0, "")
    assert max(map(len, stdout.splitlines())) <= 120
    last = next(line for line in stdout.splitlines() if line.startswith("all ")).split()
    assert (last[0], int(last[1])) == ("all", len(all_claims()))
    assert sum(map(int, last[2:])) == len(all_claims())
    assert "reason not known" in stdout


def test_filters(cli: Cli) -> None:
    asked = ("--set", "adult,twonorm", "--label", "GPC-I,GPC-II", "--metric", "nll", "--table", "IV", "--kernel", "rbf")
    found = json.loads(cli("claims", *asked, "--json").stdout)
    verdicts = {(one["set"], one["label"]): one["verdict"] for one in found["claims"]}
    assert verdicts == {
        ("adult", "GPC-I"): "confirmed",
        ("adult", "GPC-II"): "contradicted",
        ("twonorm", "GPC-I"): "undecided",
        ("twonorm", "GPC-II"): "not computed",
    }
    assert found["verdicts"] == dict.fromkeys(("confirmed", "contradicted", "undecided", "not computed"), 1) | {
        "not runnable": 0
    }
    assert found["why"] == {"contradicted": {"not known": 1}, "undecided": {"one split": 1}}
    assert cli("claims", *asked).stdout.endswith(
        "  contradicted: not known 1.\n  undecided: one split 1.\n"
        "  undecided figures that lie within the margin as they stand: 1 of 1.\n"
    )
    only = json.loads(cli("claims", *asked, "--verdict", "contradicted,not computed", "--json").stdout)
    assert {one["label"] for one in only["claims"]} == {"GPC-II"}
    assert only["verdicts"] == found["verdicts"]
    for other in (("--preset", "paper"), ("--protocol", "clean")):
        counted = json.loads(cli("claims", *asked, *other, "--json").stdout)["verdicts"]
        assert counted["not computed"] == 4


def test_a_claim_in_json_says_what_it_rests_on(cli: Cli) -> None:
    stdout = cli("claims", "--set", "adult", "--label", "GPC-II", "--table", "IV", "--json").stdout
    (claim,) = json.loads(stdout)["claims"]
    assert claim["reason"] == "not known"
    assert (claim["preset"], claim["protocol"], claim["splits"], len(claim["cells"])) == ("fast", "paper", 5, 5)
    assert claim["margin"] == pytest.approx(0.005 + 0.1 * 0.3956)
    assert claim["standard_error"] > 0
    assert claim["command"].startswith("gpcnoise reproduce uci --preset fast --protocol paper --kernel rbf")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "adlut"), "unknown set 'adlut'"),
        (("--verdict", "maybe"), "unknown verdict 'maybe'"),
        (("--preset", "slow"), "unknown preset 'slow'"),
        (("--protocol", "dirty"), "unknown protocol 'dirty'"),
        (("--table", ","), "name at least one table"),
        (("--check", "--write"), "give one of them"),
        (("--write", "--set", "adult"), "without filters"),
        (("ablate", "luck"), "unknown ablation 'luck'"),
        (("ablate", "delta-prior", "--likelihoods", "softmax"), "softmax has no δ"),
        (("ablate", "squash", "--likelihoods", "softmax"), "softmax has no product of CDFs to flip; name step, probit"),
        (("ablate", "ard", "--datasets", "iris"), "unknown dataset 'iris'"),
        (("ablate", "ard", "--datasets", ","), "name at least one set; choose from: adult, "),
        (("ablate", "ard", "--methods", "sleu"), "unknown method 'sleu'"),
        (("ablate", "ard", "--datasets", "twonorm", "--methods", ","), "nothing is left to compute"),
        (("ablate", "ard", "--datasets", "twonorm", "--likelihoods", ","), "nothing is left to compute"),
    ],
)
def test_wrong_requests_are_refused_in_a_sentence(cli: Cli, words: tuple[str, ...], said: str) -> None:
    code, stdout, stderr = cli("claims", *words)
    assert (code, stdout) == (2, "")
    assert said in stderr
    assert len(stderr.splitlines()) == 1


def test_write_then_check_then_delete(cli: Cli, results: Path) -> None:
    (results.parent / "codecheck.yml").write_text("manifest: []\n")
    assert cli("claims", "--check").code == 1
    assert cli("claims", "--write").code == 0
    code, stdout, stderr = cli("claims", "--check")
    assert (code, stdout, stderr) == (0, "", "every quoted figure has a cell behind it.\n")
    (results / "uci-fast/paper/rbf/adult/step/split-02.json").unlink()
    code, stdout, stderr = cli("claims", "--check")
    assert (code, stderr) == (1, "1 problem.\n")
    assert stdout.startswith("uci-fast/paper/rbf/adult/step/split-02.json: the cell was deleted")
    outcome = cli("claims", "--check", "--json")
    assert (outcome.code, len(json.loads(outcome.stdout)["problems"])) == (1, 1)


def test_the_ablations_are_listed(cli: Cli) -> None:
    stdout = cli("claims", "ablate").stdout
    for name in ABLATIONS:
        assert name in stdout
    assert set(json.loads(cli("claims", "ablate", "--json").stdout)["ablations"]) >= {"row-number", "ard"}


def test_the_cells_of_an_ablation_before_they_are_computed(cli: Cli) -> None:
    asked = ("--datasets", "twonorm", "--likelihoods", "step,probit", "--splits", "0-1", "--dry-run", "--json")
    found = json.loads(cli("claims", "ablate", "ard", *asked).stdout)
    assert found["folder"] == "results/ablations/ard/uci-fast"
    assert (found["to do"], len(found["cells"])) == (4, 4)
    found = json.loads(cli("claims", "ablate", "row-number", *asked).stdout)
    assert found["folder"] == "results/uci-fast"
    assert all(cell["name"].startswith("clean/rbf/twonorm/") for cell in found["cells"])
    assert json.loads(cli("claims", "ablate", "training", *asked).stdout)["folder"] == "results/uci"
    found = json.loads(cli("claims", "ablate", "row-number", *asked, "--methods", "selu").stdout)
    assert {cell["name"].split("/")[3] for cell in found["cells"]} == {"selu", "step", "probit"}


@pytest.mark.slow
def test_an_ablation_is_computed_and_shows_how_the_figure_moved(cli: Cli, results: Path) -> None:
    asked = ("ablate", "ard", "--datasets", "twonorm", "--likelihoods", "step", "--workers", "1", "--json")
    code, stdout, stderr = cli("claims", *asked)
    assert code == 0, stderr
    moved = json.loads(stdout)["moved"]
    assert {(one["dataset"], one["label"], one["metric"]) for one in moved} == {
        ("twonorm", "GPC-I", "acc"),
        ("twonorm", "GPC-I", "nll"),
    }
    assert (results / "ablations/ard/uci-fast/paper/rbf/twonorm/step/split-00.json").is_file()
    assert "0 are to do" in cli("claims", *asked).stderr


def test_an_ablation_that_is_filed_is_shown_without_the_data(cli: Cli, results: Path) -> None:
    filed = "uci-fast/paper/rbf/connect-4/step/split-00.json"
    for source in (Path(filed), Path("ablations", "ard", filed)):
        (results / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / "results" / source, results / source)
    asked = ("ablate", "ard", "--datasets", "connect-4", "--likelihoods", "step")
    code, stdout, stderr = cli("claims", *asked)
    assert code == 0
    assert "connect-4 is not here" not in stderr
    assert "connect-4" in stdout
    code, _, stderr = cli("claims", *asked, "--splits", "1")
    assert code == 2
    assert "connect-4 is not here and is left out; get it with: gpcnoise data fetch connect-4" in stderr
    assert "nothing is left to compute; name sets that are here" in stderr
