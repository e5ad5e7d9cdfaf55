"""`gpcnoise data …` as whole commands: what they print, on which stream, and with which exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

VERBS = ("list", "fetch", "import", "verify", "show", "export", "audit", "describe")


@pytest.fixture
def real_data(shared_data, monkeypatch):
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(shared_data))
    return shared_data


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb, cli):
    outcome = cli("data", verb, "--help")
    assert outcome.code == 0
    assert f"gpcnoise data {verb}" in " ".join(outcome.stdout.replace("│", " ").split()).split("Example: ")[1]


def test_list_shows_what_is_here(cli, real_data):
    outcome = cli("data", "list")
    assert outcome.code == 0
    lines = {line.split()[0]: line.split() for line in outcome.stdout.splitlines()}
    assert lines["magic"][1:6] == ["here", "19020", "10", "11", "2"]
    assert lines["miniboone"][1] == "absent"
    assert "gpcnoise data fetch miniboone" in outcome.stderr
    assert str(real_data) in outcome.stderr


def test_list_as_json_is_one_object(cli):
    outcome = cli("data", "list", "--json")
    sets = {one["name"]: one for one in json.loads(outcome.stdout)["datasets"]}
    assert outcome.stderr == ""
    assert sets["waveform"]["state"] == "generated"
    assert sets["magic"]["d_paper"] == 11


def test_verify_counts_the_sets(cli, real_data):
    outcome = cli("data", "verify")
    assert outcome.code == 0
    assert "18 of 19 present and correct, 1 absent." in outcome.stderr
    assert "get it with: gpcnoise data fetch miniboone" in outcome.stdout


def test_verify_fails_on_a_changed_file(cli, shared_data, own_data_folder):
    target = own_data_folder / "uci/magic/magic_R.dat"
    target.parent.mkdir(parents=True)
    shutil.copyfile(shared_data / "uci/magic/magic_R.dat", target)
    assert cli("data", "verify", "magic").code == 0
    target.write_bytes(target.read_bytes() + b"x")
    outcome = cli("data", "verify", "magic", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.stdout)["wrong"] == 1


def test_import_then_show(cli, shared_data, own_data_folder):
    outcome = cli("data", "import", shared_data / "uci/magic")
    assert (outcome.code, outcome.stdout.split()[-2:]) == (0, ["uci/magic/magic_R.dat", "taken"])
    facts = json.loads(cli("data", "show", "magic", "--protocol", "paper", "--json").stdout)
    assert (facts["n"], facts["loaded"]["d"], facts["loaded"]["read_from"]) == (19020, 11, "archive")
    assert [one["percent"] for one in facts["loaded"]["balance"]] == [64.84, 35.16]
    text = cli("data", "show", "magic").stdout
    assert "R. Bock" in text
    assert "class balance" in text
    assert "scaling" in text


def test_show_of_an_absent_set_says_how_to_get_it(cli):
    outcome = cli("data", "show", "letter")
    assert outcome.code == 0
    assert "gpcnoise data fetch letter" in outcome.stderr
    assert json.loads(cli("data", "show", "letter", "--json").stdout)["loaded"] is None


def test_show_and_export_take_ones_own_file(cli, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i}.5,{'ab'[i % 2]}\n" for i in range(30)))
    outcome = cli("data", "show", "file", "--data", tmp_path / "t.csv", "--target", "y", "--json")
    assert json.loads(outcome.stdout)["loaded"]["balance"][0]["class"] == "a"
    out = tmp_path / "t.npz"
    assert cli("data", "export", "file", "--data", tmp_path / "t.csv", "--target", "y", "--out", out).code == 0
    assert np.load(out)["class_names"].tolist() == ["a", "b"]


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_export_writes_the_arrays_once(protocol, cli, real_data, tmp_path):
    out = tmp_path / "p.npz"
    arguments = ("data", "export", "page-blocks", "--protocol", protocol, "--split", 7, "--out", out)
    outcome = cli(*arguments, "--json")
    assert outcome.code == 0
    facts = json.loads(outcome.stdout)
    with np.load(out, allow_pickle=False) as file:
        assert file["X_train"].shape == (facts["n_train"], facts["d"]) == (4925, 11 if protocol == "paper" else 10)
        assert file["y_test"].shape == (548,)
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert "exists already" in outcome.stderr
    assert outcome.stdout == ""
    assert cli(*arguments, "--force").code == 0


def test_audit_prints_a_table_with_verdicts(cli, real_data):
    outcome = cli("data", "audit", "magic", "letter")
    lines = [line.split() for line in outcome.stdout.splitlines()[1:]]
    assert lines == [
        ["magic", "archive", "100.0", "64.8", "35.2", "leak"],
        ["letter", "archive", "4.1", "4.1", "0.0", "none"],
    ]
    facts = json.loads(cli("data", "audit", "magic", "--json").stdout)
    assert facts["sets"][0]["verdict"] == "leak"


def test_fetch_of_what_is_here_downloads_nothing(cli, real_data):
    outcome = cli("data", "fetch", "magic", "letter", "--json")
    assert json.loads(outcome.stdout)["already"] == ["uci/magic/magic_R.dat", "uci/letter/letter_R.dat"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fetch",), 2, "name the sets to fetch, or give --all"),
        (("fetch", "magic", "--all"), 2, "name the sets to fetch, or give --all"),
        (("fetch", "majic"), 2, "did you mean 'magic'"),
        (("fetch", "magic", "--url", "http://127.0.0.1:9/data.tar.gz"), 1, "gpcnoise data import PATH"),
        (("show", "wavefrom"), 2, "did you mean 'waveform'"),
        (("show", "waveform", "--protocol", "x"), 2, "unknown protocol 'x'"),
        (("show", "file"), 2, "needs a file and the name of its target column"),
        (("show", "waveform", "--split", "one"), 2, "--split"),
        (("export", "magic", "--out", "m.csv"), 2, "must end in .npz"),
        (("export", "magic", "--out", "m.npz"), 1, "'magic' is not in the data folder"),
        (("export", "waveform"), 2, "--out"),
        (("import", "nowhere"), 2, "there is no file or folder"),
        (("verify", "banana"), 2, "not a set of the archive"),
        (("audit", "airline"), 2, "has no row number to audit"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, code, message, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    outcome = cli("data", *arguments)
    assert outcome.code == code
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert outcome.stdout == ""


SORTED = "rownames,x,when,note,kind\n" + "".join(
    f"{i + 1},{(i * 37 % 101) / 7:.3f},2020-{1 + i % 12:02}-{1 + i % 28:02},same,{'ab'[i // 60]}\n" for i in range(120)
)


def test_describe_says_what_each_column_is(cli, tmp_path):
    (tmp_path / "t.csv").write_text(SORTED)
    outcome = cli("data", "describe", tmp_path / "t.csv", "--target", "kind")
    assert outcome.code == 0
    header, *lines = outcome.stdout.splitlines()
    assert header.split() == ["column", "kind", "missing", "levels", "used"]
    assert [line.split()[:2] for line in lines[:4]] == [
        ["rownames", "identifier"],
        ["x", "number"],
        ["when", "date"],
        ["note", "constant"],
    ]
    assert "column 'rownames' is left out: " in outcome.stderr
    facts = json.loads(
        cli("data", "describe", tmp_path / "t.csv", "--target", "kind", "--drop", "when", "--json").stdout
    )
    assert facts["classes"] == [{"class": "a", "rows": 60}, {"class": "b", "rows": 60}]
    assert [column["features"] for column in facts["columns"]] == [[], ["x"], [], []]


def test_describe_imports_no_tensorflow(tmp_path):
    (tmp_path / "t.csv").write_text(SORTED)
    code = (
        "import sys; from gpcnoise_cli.cli.main import main; "
        f"code = main(['data', 'describe', {str(tmp_path / 't.csv')!r}, '--target', 'kind']); "
        "print(code, 'tensorflow' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "0 False"


def test_audit_of_ones_own_file_finds_the_leak(cli, tmp_path):
    (tmp_path / "t.csv").write_text(SORTED)
    facts = json.loads(cli("data", "audit", "--data", tmp_path / "t.csv", "--target", "kind", "--json").stdout)
    assert {one["dataset"]: one["verdict"] for one in facts["sets"]} == {"(row order)": "leak", "rownames": "leak"}
    outcome = cli("data", "audit", "--data", tmp_path / "t.csv")
    assert (outcome.code, "--target" in outcome.stderr) == (2, True)
    outcome = cli("data", "audit", "magic", "--data", tmp_path / "t.csv", "--target", "kind")
    assert (outcome.code, "not both" in outcome.stderr) == (2, True)
