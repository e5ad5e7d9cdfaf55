"""A real browser for the tests of the page: Chromium without a window, driven over its own debugging pipe."""

from __future__ import annotations

import base64
import functools
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpcnoise_cli.grid.cell import Cell, stored_config
from gpcnoise_cli.grid.ledger import Ledger
from gpcnoise_cli.grid.uci import Grid, folder_name
from gpcnoise_cli.likelihoods.registry import likelihood_spec
from gpcnoise_cli.tables.published import published_figures

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# The browser reads commands from descriptor 3 and answers on 4, whatever numbers the pipes have here.
LAUNCH = """
import fcntl, os, sys
there, back = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(there, 3)
os.dup2(back, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab. `problems` collects what the page logged as an error or a warning, and what it tried to load."""

    def __init__(self, program: str, profile: Path) -> None:
        (there, self._write), (self._read, back) = os.pipe(), os.pipe()
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(there), str(back), program, *flags, f"--user-data-dir={profile}"],
            pass_fds=(there, back),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._numbers, self._buffer, self._events = itertools.count(1), b"", list[dict[str, Any]]()
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.problems: list[str] = []

    def open(self, path: Path, *, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Show a file at a size; what went wrong before is forgotten."""
        self.problems.clear()
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self._call("Page.navigate", url=path.resolve().as_uri())
        self._wait_for("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_until(self, script: str, seconds: float = 20.0) -> None:
        """Ask until the expression is true; what the page does after a click takes its time."""
        until = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < until, f"never true: {script}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element, as a person does."""
        where = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{where}.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}})")
        x, y = self.run(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({where}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        code = {"Enter": 13, "Tab": 9, " ": 32}[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        more = {"text": text} if text else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def allow_clipboard(self) -> None:
        session, self._session = self._session, None
        self._call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self._session = session

    def screenshot(self, path: Path, *, full: bool = False) -> None:
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))

    def print_to_pdf(self) -> bytes:
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def close(self) -> None:
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def _wait_for(self, event: str) -> None:
        while not any(one["method"] == event for one in self._events):
            self._receive()

    def _receive(self, seconds: float = 60.0) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0.0, until - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise AssertionError(f"the browser has ended with code {self._process.poll()}")
            self._buffer += part
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        if "method" in message:
            self._events.append(message)
            self._note(message["method"], message.get("params", {}))
        return message

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.problems.append(f"asked for {url}")


@functools.cache
def composed(grid: Grid) -> tuple[str, list[Cell]]:
    """The folder and the cells of a grid; composing configurations is what takes time."""
    return folder_name(grid.preset, grid.departures()), grid.cells()


def file_cells(results: Path, *, shift: float = 0.0, points: int = 20, **grid: Any) -> list[Path]:
    """Cells of the UCI grid, filed by the ledger itself: the published figures, moved by `shift` points of accuracy."""
    asked: dict[str, Any] = {
        "preset": "paper",
        "protocol": "paper",
        "kernel": "rbf",
        "datasets": ("ringnorm", "twonorm", "magic", "waveform"),
        "likelihoods": ("step", "probit", "logit", "softmax"),
        "splits": (0,),
    }
    name, made = composed(Grid(**(asked | grid)))
    ledger = Ledger(results / name)
    for cell in made:
        config = cell.config
        method = likelihood_spec(config.likelihood.name).label
        at = config.dataset.name, method
        wobble = 0.01 * config.split
        acc = published_figures("acc", config.kernel.name)[at] + shift + wobble
        nll = published_figures("nll", config.kernel.name)[at] + wobble
        steps = [config.iterations * (index + 1) // points for index in range(points)]
        curve = {"step": steps, "nll": [nll + 1 / (i + 1) for i in range(points)], "acc": [acc - 9 / s for s in steps]}
        record = {
            "preset": config.preset, "dataset": config.dataset.name, "source": "archive", "protocol": config.protocol,
            "likelihood": config.likelihood.name, "method": method, "kernel": config.kernel.name,
            "inducing": config.inducing, "batch_size": config.batch_size, "iterations": config.iterations,
            "split": config.split, "steps": config.iterations, "acc": acc, "nll": nll, "brier": 0.1, "ece": 0.01,
            "delta": 0.01, "train_seconds": 12.5, "versions": {"gpcnoise": "0.1.0"}, "curve": curve, "threads": 1,
            "host": {"system": "Linux", "machine": "x86_64", "cpu": "some CPU", "cores": 2}, "commit": "abcdef012345",
            "departures": dict(cell.departures), "config": stored_config(config), "digest": cell.digest,
        }  # fmt: skip
        ledger.file_result(cell, record)
    return [ledger.result_path(cell) for cell in made]


@pytest.fixture(scope="session")
def cells_maker() -> Callable[..., list[Path]]:
    return file_cells


@pytest.fixture
def cells(cells_maker: Callable[..., list[Path]]) -> Callable[..., list[Path]]:
    return cells_maker


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny finished run on a table whose class names look like HTML."""
    from gpcnoise_cli.cli.main import main

    base = tmp_path_factory.mktemp("runs")
    rows = [f"{i % 7},{i % 5},{'<b>yes</b>' if i % 7 > 3 else 'no & no'}" for i in range(80)]
    (base / "table.csv").write_text("\n".join(["a,b,kind", *rows]) + "\n")
    options = [
        "--data",
        str(base / "table.csv"),
        "--target",
        "kind",
        "-m",
        "5",
        "--iterations",
        "12",
        "runtime.eval_every=2",
    ]
    assert main(["train", *options, "--likelihood", "step", "--out", str(base / "run"), "--json"]) == 0
    return base / "run"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium was found on the PATH; `make browser` installs Debian's")
    tab = Browser(program, tmp_path_factory.mktemp("browser-profile"))
    yield tab
    tab.close()
