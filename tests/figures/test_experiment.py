"""Settings other than the full ones are named: in the note, and in the folder."""

from __future__ import annotations

from gpcnoise_cli.figures.bounds import BoundsSettings
from gpcnoise_cli.figures.catalogue import EXPERIMENTS
from gpcnoise_cli.figures.toy import ToySettings


def test_full_settings_have_no_note_and_the_plain_folder() -> None:
    for name, experiment in EXPERIMENTS.items():
        settings = experiment.settings()
        assert (settings.note(), settings.folder_name(name)) == ("", name)


def test_a_shortened_run_says_so_everywhere() -> None:
    settings = ToySettings(iterations=20)
    assert settings.note() == "not the full settings: iterations 20 instead of 5,000"
    assert settings.folder_name("toy") == "toy-iterations-20"


def test_curves_without_sets_are_complete_by_themselves() -> None:
    assert BoundsSettings(sets=()).note() == ""
    assert "sets waveform" in BoundsSettings(sets=("waveform",)).note()
