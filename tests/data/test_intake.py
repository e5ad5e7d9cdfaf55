"""Taking files in: right files arrive, wrong ones leave the data folder as it was."""

from __future__ import annotations

import errno
import io
import shutil
import tarfile
from pathlib import Path

import pytest

from gpcnoise_cli.data import load_split
from gpcnoise_cli.data.intake import take_in
from gpcnoise_cli.data.verify import verify_sets
from gpcnoise_cli.errors import GpcnoiseError, UsageError

from .conftest import write_archive_file

MAGIC = "uci/magic/magic_R.dat"


def contents(folder: Path) -> list[str]:
    """Every file and folder below, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def make_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def magic(shared_data: Path) -> bytes:
    return (shared_data / MAGIC).read_bytes()


def test_tar_archive_is_taken_in_and_checked(tmp_path, own_data_folder, magic):
    tar = make_tar(tmp_path / "data.tar.gz", {"./magic/magic_R.dat": magic, "./iris/iris_R.dat": b"other"})
    intake = take_in(tar)
    assert intake.taken == (MAGIC,)
    assert contents(own_data_folder) == ["uci", "uci/magic", MAGIC]
    assert load_split("magic").source == "archive"
    again = take_in(tar)
    assert (again.taken, again.already) == ((), (MAGIC,))


def test_folder_is_taken_in_with_its_layout_or_without(tmp_path, own_data_folder, shared_data):
    loose = tmp_path / "downloads"
    loose.mkdir()
    for file in (MAGIC, "uci/adult/adult_train_R.dat", "uci/adult/adult_test_R.dat", "banana/banana.csv"):
        shutil.copyfile(shared_data / file, loose / Path(file).name)
    intake = take_in(loose)
    assert len(intake.taken) == 4
    assert intake.unverified == ("banana/banana.csv",)
    assert {one.dataset for one in verify_sets() if one.status == "correct"} == {"magic", "adult"}


def test_single_file_is_taken_in(tmp_path, own_data_folder):
    write_archive_file(tmp_path / "miniboone_R.dat", n=50, d=50, num_classes=2)
    assert take_in(tmp_path / "miniboone_R.dat").unverified == ("uci/miniboone/miniboone_R.dat",)
    assert load_split("miniboone").n_train == 45


def test_unverifiable_file_is_not_replaced_silently(tmp_path, own_data_folder):
    write_archive_file(tmp_path / "miniboone_R.dat", n=50, d=50, num_classes=2)
    take_in(tmp_path / "miniboone_R.dat")
    write_archive_file(tmp_path / "miniboone_R.dat", n=60, d=50, num_classes=2)
    with pytest.raises(UsageError, match="differs; --force replaces it"):
        take_in(tmp_path / "miniboone_R.dat")
    assert load_split("miniboone").n_train == 45
    take_in(tmp_path / "miniboone_R.dat", force=True)
    assert load_split("miniboone").n_train == 54


def test_wrong_hash_takes_nothing_and_the_next_attempt_works(tmp_path, own_data_folder, magic, shared_data):
    wine = (shared_data / "uci/wine-quality-white/wine-quality-white_R.dat").read_bytes()
    spoilt = {"wine-quality-white/wine-quality-white_R.dat": wine, "magic/magic_R.dat": magic.replace(b"0", b"1", 1)}
    with pytest.raises(GpcnoiseError, match=r"magic_R.dat does not have the sha256 .* nothing was taken"):
        take_in(make_tar(tmp_path / "a.tar.gz", spoilt))
    assert contents(own_data_folder) == []
    take_in(make_tar(tmp_path / "a.tar.gz", {**spoilt, "magic/magic_R.dat": magic}))
    assert sum(one.status == "correct" for one in verify_sets()) == 2


def test_wrong_file_in_the_folder_is_repaired(tmp_path, own_data_folder, magic):
    (own_data_folder / MAGIC).parent.mkdir(parents=True)
    (own_data_folder / MAGIC).write_bytes(magic[:-7])
    assert [one.status for one in verify_sets(("magic",))] == ["wrong"]
    take_in(make_tar(tmp_path / "a.tar.gz", {"magic/magic_R.dat": magic}))
    assert [one.status for one in verify_sets(("magic",))] == ["correct"]


@pytest.mark.parametrize("name", ["../magic_R.dat", "magic/../../magic_R.dat", "/tmp/magic_R.dat", "../../evil.sh"])
def test_archive_with_an_escaping_path_is_refused(name, tmp_path, own_data_folder, magic):
    tar = make_tar(tmp_path / "evil.tar.gz", {"magic/magic_R.dat": magic, name: magic})
    before = contents(tmp_path)
    with pytest.raises(GpcnoiseError, match="leads outside the data folder; it was refused"):
        take_in(tar)
    assert contents(own_data_folder) == []
    assert [path for path in contents(tmp_path) if path not in before] in ([], ["data-folder"])


def test_links_in_an_archive_are_not_followed(tmp_path, own_data_folder):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        member = tarfile.TarInfo("magic/magic_R.dat")
        member.type, member.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(member)
    with pytest.raises(GpcnoiseError, match="holds none of the known files"):
        take_in(tmp_path / "links.tar")
    assert contents(own_data_folder) == []


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_cut_off_archive_takes_nothing(keep, tmp_path, own_data_folder, magic, shared_data):
    wine = (shared_data / "uci/wine-quality-white/wine-quality-white_R.dat").read_bytes()
    tar = make_tar(
        tmp_path / "data.tar.gz", {"magic/magic_R.dat": magic, "wine-quality-white/wine-quality-white_R.dat": wine}
    )
    tar.write_bytes(tar.read_bytes()[: int(keep * tar.stat().st_size)])
    with pytest.raises(GpcnoiseError, match=r"data.tar.gz .*nothing was taken|data.tar.gz cannot be read") as caught:
        take_in(tar)
    assert "\n" not in str(caught.value)
    assert contents(own_data_folder) == []


def test_other_things_are_refused_in_one_sentence(tmp_path, own_data_folder):
    with pytest.raises(UsageError, match="there is no file or folder"):
        take_in(tmp_path / "none")
    (tmp_path / "x.txt").write_text("no archive")
    with pytest.raises(GpcnoiseError, match="no whole tar archive and no known data file"):
        take_in(tmp_path / "x.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GpcnoiseError, match="holds none of the known files"):
        take_in(tmp_path / "empty")
    assert contents(own_data_folder) == []


def test_full_disk_keeps_nothing_and_the_next_attempt_works(tmp_path, own_data_folder, magic, monkeypatch):
    tar = make_tar(tmp_path / "data.tar.gz", {"magic/magic_R.dat": magic})
    opened = Path.open

    class FullDisk(io.FileIO):
        def write(self, block):
            raise OSError(errno.ENOSPC, "No space left on device")

    def open_on_full_disk(self, mode="r", *args, **kwargs):
        return FullDisk(self, "w") if mode == "wb" else opened(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_on_full_disk)
    with pytest.raises(GpcnoiseError, match=r"no space left .* nothing was kept: free some space"):
        take_in(tar)
    monkeypatch.undo()
    monkeypatch.setenv("GPCNOISE_DATA_DIR", str(own_data_folder))
    assert contents(own_data_folder) == []
    assert take_in(tar).taken == (MAGIC,)
