"""A built wheel carries conf/ inside the package and works from any folder."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpcnoise_cli.config.groups import conf_dir

REPOSITORY = Path(__file__).resolve().parents[2]


def test_an_installed_wheel_finds_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("build", reason="the dev extra is not installed")
    pytest.importorskip("hatchling", reason="the dev extra is not installed")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, REPOSITORY],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    shipped = {path.relative_to(site / "gpcnoise_cli" / "conf") for path in site.rglob("conf/**/*.yaml")}
    assert shipped == {path.relative_to(conf_dir()) for path in conf_dir().rglob("*.yaml")}
    pages = Path("gpcnoise_cli", "page", "templates")
    assert {path.name for path in (site / pages).iterdir()} == {path.name for path in (REPOSITORY / pages).iterdir()}

    # The copy in site/ must be the one that runs, not the source tree.
    monkeypatch.setenv("PYTHONPATH", str(site))
    code = "import sys; from gpcnoise_cli.cli import main; print(main.__file__, file=sys.stderr); main.run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "config", "--likelihood", "step"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(site) in done.stderr
    assert "name: step" in done.stdout
