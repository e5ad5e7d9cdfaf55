"""Imports point one way, down the floors of the house, and only the command line prints."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "gpcnoise_cli"

# From top to bottom; a floor imports those below it, and floors in one line do not know each other.
FLOORS = """
    cli
    page doctor
    claims
    bench
    tables
    figures
    scale
    grid
    estimator export
    runs
    methods
    training
    evaluation
    models
    likelihoods
    predictor
    devices
    runtime
    data config
    files
    errors
"""
LEVEL = {floor: level for level, line in enumerate(FLOORS.split("\n")) for floor in line.split()}
# Names and facts that help texts and checks are made of: they import nothing heavy, and every floor may read them.
REGISTRIES = tuple(f"gpcnoise_cli.{floor}.registry" for floor in ("likelihoods", "methods", "data"))

# What still points upwards, and why; a line whose import is gone must go too.
UPWARDS: dict[tuple[str, str], str] = {}
# Those who print besides the command line, and why.
PRINTING = {
    "bench/gpytorch_worker.py": "a process of its own that answers on stdout",
    "bench/memory.py": "a process of its own that answers on stdout",
    "grid/worker.py": "a process of its own that answers on stdout",
    "estimator/fitting.py": "verbose=True, as scikit-learn's estimators have it",
}


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    """Every module of the package: its path, its floor, its code."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in ("__init__.py", "__main__.py"):
            yield name, name.split("/")[0].removesuffix(".py"), ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def prints(tree: ast.Module) -> bool:
    """Whether it calls print, writes to stdout, or has rich or Typer do so."""
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    streams = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    packages = {name.split(".")[0] for name in imports(tree)}
    return bool("print" in calls or "sys.stdout" in streams or packages & {"rich", "typer"})


def test_imports_point_downwards() -> None:
    upwards = set()
    for path, floor, tree in modules():
        assert floor in LEVEL, f"{path}: say in FLOORS where {floor} stands"
        ours = [name for name in imports(tree) if name.startswith("gpcnoise_cli.")]
        others = {name.split(".")[1] for name in ours if not name.startswith(REGISTRIES)} & LEVEL.keys()
        upwards |= {(path, other) for other in others - {floor} if LEVEL[other] <= LEVEL[floor]}
    assert upwards == UPWARDS.keys()


def test_only_the_command_line_prints() -> None:
    assert {path for path, floor, tree in modules() if floor != "cli" and prints(tree)} == PRINTING.keys()
