"""Which hosts train together, as TF_CONFIG says; and what is wrong with it, in a sentence."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from gpcnoise_cli.devices import ENVIRONMENT, Cluster, _wait_for_chief
from gpcnoise_cli.errors import GpcnoiseError, UsageError

TWO = ["10.0.0.1:2222", "10.0.0.2:2222"]


def told(monkeypatch: pytest.MonkeyPatch, content: Any) -> Cluster | None:
    monkeypatch.setenv(ENVIRONMENT, content if isinstance(content, str) else json.dumps(content))
    return Cluster.from_environment()


@pytest.mark.parametrize(
    "content",
    [
        "",
        {},
        {"cluster": {}, "task": {"type": "worker", "index": 0}},
        {"cluster": {"worker": TWO[:1]}, "task": {"type": "worker", "index": 0}},
    ],
)
def test_a_host_without_others_is_alone(monkeypatch: pytest.MonkeyPatch, content: Any) -> None:
    assert told(monkeypatch, content) is None


def test_the_first_worker_is_the_chief(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        told(monkeypatch, {"cluster": {"worker": TWO}, "task": {"type": "worker", "index": index}}) for index in (0, 1)
    )
    assert first == Cluster(tuple(TWO), 0)
    assert second == Cluster(tuple(TWO), 1)
    assert [first.is_chief, second.is_chief] == [True, False]
    assert "the chief;" in first.introduction
    assert "host 2 of 2 (10.0.0.2:2222), a helper of the chief, 10.0.0.1:2222" in second.introduction


def test_a_chief_that_is_named_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"cluster": {"worker": TWO[:1], "chief": TWO[1:]}, "task": {"type": "worker", "index": "0"}}
    assert told(monkeypatch, content) == Cluster((TWO[1], TWO[0]), 1)


@pytest.mark.parametrize(
    "content",
    [
        "{worker",
        "[1]",
        {"cluster": {"worker": TWO}},
        {"cluster": {"worker": TWO}, "task": {"type": "worker", "index": 2}},
        {"cluster": {"worker": TWO}, "task": {"type": "chief", "index": 0}},
    ],
)
def test_what_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, content: Any) -> None:
    with pytest.raises(UsageError, match=r'TF_CONFIG cannot be read .*; it must be like {"cluster"'):
        told(monkeypatch, content)


def test_other_kinds_of_hosts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="TF_CONFIG names ps, but hosts are chief or worker here"):
        told(monkeypatch, {"cluster": {"worker": TWO, "ps": TWO}, "task": {"type": "worker", "index": 0}})


@pytest.mark.parametrize("address", ["nowhere.invalid:2222", "127.0.0.1:1", "127.0.0.1"])
def test_a_chief_out_of_reach_is_named(address: str) -> None:
    with pytest.raises(
        GpcnoiseError, match=f"the chief cannot be reached at {address} .*; see that it has been started"
    ):
        _wait_for_chief(address, seconds=0.0)


def test_a_chief_that_is_there_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        _wait_for_chief(f"127.0.0.1:{server.getsockname()[1]}", seconds=0.0)
