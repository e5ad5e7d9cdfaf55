"""The download, against a real web server on this machine that behaves well and badly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpcnoise_cli.data.fetch import fetch_sets
from gpcnoise_cli.data.verify import verify_sets
from gpcnoise_cli.errors import GpcnoiseError, UsageError

from .test_intake import MAGIC, contents, make_tar


class Server(ThreadingHTTPServer):
    """Serves `body`; `behaviour` says how."""

    daemon_threads = True
    body = b""
    behaviour = "well"
    requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        behaviour, body = self.server.behaviour, self.server.body
        if behaviour == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if behaviour == "breaks off":
            body = body[: len(body) // 2]
        if behaviour == "corrupts":
            body = body[:5000] + bytes(255 - byte for byte in body[5000:5100]) + body[5100:]
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    members = {
        f"data/{name}/{name}_R.dat": (shared_data / f"uci/{name}/{name}_R.dat").read_bytes()
        for name in ("magic", "wine-quality-white")
    }
    with Server(("127.0.0.1", 0), Handler) as server:
        server.body = make_tar(tmp_path / "served.tar.gz", members).read_bytes()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def url_of(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/data.tar.gz"


def test_named_sets_arrive_whole(server, own_data_folder):
    intake = fetch_sets(["magic"], url=url_of(server))
    assert intake.taken == (MAGIC,)
    assert contents(own_data_folder) == ["uci", "uci/magic", MAGIC]
    assert [one.status for one in verify_sets(("magic",))] == ["correct"]


def test_what_is_here_is_not_downloaded_again(server, own_data_folder):
    fetch_sets(["magic"], url=url_of(server))
    assert fetch_sets(["magic"], url=url_of(server)).already == (MAGIC,)
    assert server.requests == 1
    fetch_sets(["magic"], url=url_of(server), force=True)
    assert server.requests == 2


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("breaks off", "could not download .*the download broke off"),
        ("missing", "could not download .*404"),
        ("corrupts", "nothing was taken|cannot be read"),
    ],
)
def test_bad_download_leaves_nothing_and_the_next_attempt_works(behaviour, message, server, own_data_folder):
    server.behaviour = behaviour
    with pytest.raises(GpcnoiseError, match=message):
        fetch_sets(["magic", "wine-quality-white"], url=url_of(server))
    assert contents(own_data_folder) == []
    server.behaviour = "well"
    assert len(fetch_sets(["magic", "wine-quality-white"], url=url_of(server)).taken) == 2


def test_without_a_network_one_sentence_says_what_to_do(server, own_data_folder):
    url = url_of(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(GpcnoiseError, match=r"no connection.*data import PATH.*GPCNOISE_DATA_DIR") as caught:
        fetch_sets(url=url)
    assert "\n" not in str(caught.value)
    assert contents(own_data_folder) == []


def test_set_that_the_archive_lacks_is_named(server, own_data_folder):
    with pytest.raises(GpcnoiseError, match="does not hold adult; the other sets were taken in"):
        fetch_sets(["adult", "magic"], url=url_of(server))
    assert [one.status for one in verify_sets(("magic",))] == ["correct"]


def test_progress_is_told(server):
    class Bar:
        total, seen, closed = 0, 0, False

        def update(self, size):
            self.seen += size

        def reset(self):
            self.seen = 0

        def close(self):
            self.closed = True

    bar = Bar()
    fetch_sets(["magic"], url=url_of(server), progress=bar)
    assert bar.total == bar.seen == len(server.body)
    assert bar.closed


def test_wrong_requests_are_refused(own_data_folder):
    with pytest.raises(UsageError, match=r"'airline' is not in the archive; get it with: gpcnoise data import"):
        fetch_sets(["airline"])
    with pytest.raises(UsageError, match="not an address"):
        fetch_sets(["magic"], url="data.tar.gz")


def test_unwritable_data_folder_is_named(tmp_path, monkeypatch):
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(tmp_path / "a-file" / "data"))
    with pytest.raises(GpcnoiseError, match=r"cannot write .*a-file"):
        fetch_sets(["magic"])
