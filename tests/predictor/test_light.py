"""Neither predictions nor what leads to them load TensorFlow, GPflow or anything else that takes long."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpcnoise_cli.config.compose import to_yaml
from gpcnoise_cli.methods.trained_model import TrainedModel

ENGINE = ("tensorflow", "tensorflow_probability", "gpflow", "tf_keras", "keras")
HEAVY = (*ENGINE, "matplotlib", "hydra", "sklearn")


def loaded_by(code: str) -> set[str]:
    """The packages in memory at the end of a new process that runs `code`."""
    code += "\nimport sys, json\nprint('\\n' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def run(random_model: Callable[..., TrainedModel], tmp_path: Path) -> Path:
    model = random_model("likelihood=softmax")
    (tmp_path / "config.yaml").write_text(to_yaml(model.config))
    model.save(tmp_path)
    table = np.random.default_rng(0).normal(size=(5, 3))
    np.savetxt(tmp_path / "new.csv", table, delimiter=",", header="x0,x1,x2", comments="")
    return tmp_path


def test_the_predictor_imports_numpy_and_scipy_alone() -> None:
    modules = ["file", "links", "nodes", "posterior", "predictors", "restored", "win_probability"]
    found = loaded_by("\n".join(f"import gpcnoise_cli.predictor.{name}" for name in modules))
    assert {"numpy", "scipy"} <= found
    assert not found & {*HEAVY, "pandas", "omegaconf", "typer", "rich"}


def test_predict_loads_nothing_heavy(run: Path) -> None:
    out = run / "out.csv"
    arguments = ["predict", str(run), "--data", str(run / "new.csv"), "--out", str(out)]
    found = loaded_by(f"from gpcnoise_cli.cli.main import main\nassert main({arguments}) == 0")
    assert len(out.read_text().splitlines()) == 6
    assert not found & set(HEAVY)


def test_evaluate_and_a_loaded_estimator_do_without_the_engine(run: Path) -> None:
    labelled = run / "labelled.csv"
    header, *rows = (run / "new.csv").read_text().splitlines()
    lines = [f"{header},class", *(f"{row},{'abcab'[i]}" for i, row in enumerate(rows))]
    labelled.write_text("\n".join(lines) + "\n")
    arguments = ["evaluate", str(run), "--data", str(labelled), "--json"]
    found = loaded_by(
        f"from gpcnoise_cli.cli.main import main\nassert main({arguments}) == 0\n"
        f"from gpcnoise_cli import GPCNoiseClassifier\nmodel = GPCNoiseClassifier.from_run({str(run)!r})\n"
        "import numpy as np\nmodel.predict_proba(np.zeros((2, 3)))\nmodel.predict_latent(np.zeros((2, 3)))"
    )
    assert "sklearn" in found
    assert not found & set(ENGINE)


@pytest.mark.parametrize("name", ["q_mu", "kernel.lengthscales", "inducing_variable.Z"])
def test_weights_that_are_no_numbers_are_an_error(
    cli: Callable[..., object], random_model: Callable[..., TrainedModel], run: Path, name: str
) -> None:
    model = random_model("likelihood=softmax", "kernel.shared=true")
    model.arrays[name].flat[0] = np.nan
    model.save(run)
    outcome = cli("predict", run, "--data", run / "new.csv")
    assert (outcome.code, outcome.stdout) == (1, "")  # type: ignore[attr-defined]
    sentence = outcome.stderr  # type: ignore[attr-defined]
    assert f"{name} holds 1 values that are not finite numbers" in sentence
    assert sentence.count("\n") == 1
