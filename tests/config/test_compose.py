"""Precedence of options, recipes and groups; state, folders, and YAML there and back."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

from gpcnoise_cli.config.compose import compose, from_dict, from_yaml, to_yaml
from gpcnoise_cli.config.schema import MethodConfig
from gpcnoise_cli.errors import UsageError


def test_default_is_softmax_on_waveform_noise_with_the_fast_recipe() -> None:
    config = compose()
    assert (config.preset, config.dataset.name, config.likelihood.name) == ("fast", "waveform-noise", "softmax")
    assert (config.kernel.name, config.kernel.ard, config.protocol) == ("rbf", True, "clean")
    assert (config.inducing, config.batch_size, config.split, config.seed, config.out) == (300, 1024, 0, 0, None)


def test_paper_recipe_is_the_paper_to_the_letter() -> None:
    config = compose(["preset=paper"])
    assert (config.preset, config.iterations, config.optimizer.name) == ("paper", 10000, "adam")
    assert (config.optimizer.learning_rate, config.optimizer.cycle, config.optimizer.early_stop) == (0.01, 0, False)
    assert (config.delta.mode, config.delta.value, config.delta.prior) == ("free", 1e-3, "none")
    assert (config.kernel.lengthscale_start, config.kernel.variance) == ("paper", 5.0)
    assert (config.kernel.ard, config.kernel.shared) == (True, False)
    assert (config.likelihood.bound, config.objective) == ("gumbel", "elbo")


@pytest.mark.parametrize(("recipe", "bound"), [("fast", "tilted"), ("paper", "gumbel")])
def test_recipe_chooses_the_bound_of_softmax_only(recipe: str, bound: str) -> None:
    assert compose([f"preset={recipe}"]).likelihood.bound == bound
    assert compose([f"preset={recipe}", "likelihood=step"]).likelihood.bound == "gaussian"


def test_fast_recipe_starts_gaussian_noise_short_and_is_content_sooner() -> None:
    def start_and_end(likelihood: str) -> tuple[str, bool, float]:
        config = compose(["preset=fast", f"likelihood={likelihood}"])
        return config.kernel.lengthscale_start, config.kernel.log_scale, config.optimizer.tolerance

    assert start_and_end("softmax") == ("data", True, 0.01)
    for gaussian in ("step", "probit", "logit"):
        assert start_and_end(gaussian) == ("paper", False, 0.1)


def test_a_recipe_may_want_something_of_one_method_only() -> None:
    def rate(*overrides: str) -> float:
        return compose(overrides).optimizer.learning_rate

    assert (rate("method=ep"), rate("preset=paper", "method=ep"), rate("method=orth")) == (0.03, 0.01, 0.1)
    assert rate("method=ep", "optimizer.learning_rate=0.2") == 0.2


def test_the_cycles_of_the_fast_recipe_end_where_it_says() -> None:
    from gpcnoise_cli.training.schedule import Schedule

    config = compose(["preset=fast"])
    schedule, ends = Schedule(config.iterations, config.optimizer), []
    while not ends or ends[-1] < config.iterations:
        ends.append(int(schedule.cycle_end))
        schedule.next_cycle()
    assert ends == [60, 150, 285, 487, 800]


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_the_command_line_beats_the_recipe(recipe: str) -> None:
    wanted = [
        "delta=fixed",
        "optimizer=natgrad",
        "optimizer.learning_rate=0.5",
        "likelihood.bound=gumbel",
        "iterations=7",
    ]
    config = compose([*wanted, f"preset={recipe}"])
    assert (config.delta.mode, config.optimizer.name, config.optimizer.natural_step) == ("fixed", "natgrad", 0.1)
    assert (config.optimizer.learning_rate, config.likelihood.bound, config.iterations) == (0.5, "gumbel", 7)


def test_the_later_of_two_overrides_counts() -> None:
    config = compose(["likelihood=step", "inducing=3", "likelihood=probit", "inducing=4"])
    assert (config.likelihood.name, config.inducing) == ("probit", 4)


def test_any_noise_variance_by_override() -> None:
    assert compose(["likelihood=probit", "likelihood.noise_variance=0.25"]).likelihood.noise_variance == 0.25


def test_composing_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    first = compose(["inducing=5"])
    assert compose(["inducing=5"]) == first
    assert compose().inducing == 300
    assert set(tmp_path.iterdir()) == before
    assert not GlobalHydra.instance().is_initialized()


def test_a_fault_leaves_no_trace_either() -> None:
    with pytest.raises(UsageError, match="cannot be composed: Interpolation key 'nope' not found"):
        compose(["inducing=${nope}"])
    assert not GlobalHydra.instance().is_initialized()


def test_saved_configuration_comes_back() -> None:
    path = "dir ${x}/it's a, b=c [1]\\.csv"
    config = compose(["preset=paper", "likelihood=logit", "out='runs/δ'"])
    config.dataset.name, config.dataset.path, config.dataset.target = "file", path, "klass: ja\n"
    assert from_yaml(to_yaml(config)) == config


def test_a_method_brings_typed_settings(another_method: str) -> None:
    defaults = {"trees": 50, "rate": 0.01, "widths": [8, 4], "deep": False}
    assert compose(["method=forest"]).method == MethodConfig("forest", defaults)
    asked = ["method.settings.rate=1", "method=forest", "method.settings.deep=true", "method.settings.widths=[9]"]
    config = compose(asked)
    assert config.method.settings == {"trees": 50, "rate": 1.0, "widths": [9], "deep": True}
    assert isinstance(config.method.settings["rate"], float)
    assert from_yaml(to_yaml(config)) == config


def test_a_saved_method_is_checked_and_completed(another_method: str) -> None:
    stored = dataclasses.asdict(compose(["method=forest", "method.settings.trees=9"]))
    del stored["method"]["settings"]["rate"]
    assert from_dict(stored).method.settings == {"trees": 9, "rate": 0.01, "widths": [8, 4], "deep": False}
    for wrong in ({"trees": "many"}, {"leaves": 3}):
        with pytest.raises(UsageError, match=r"^the run is not a valid configuration: "):
            from_dict({**stored, "method": {"name": "forest", "settings": wrong}}, origin="the run")
    with pytest.raises(UsageError, match=r"method.name must be .*, not 'forst' \(did you mean forest\?\)"):
        from_dict({**stored, "method": {"name": "forst"}})


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "inducing: many", "inducign: 3", "preset: quick"])
def test_a_damaged_configuration_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_yaml(text, origin="run/config.yaml")
    assert "\n" not in str(caught.value)


def test_an_optimizer_that_the_preset_prescribes_is_not_replaced_in_silence() -> None:
    assert compose(["preset=paper", "likelihood=augmented"]).optimizer.inducing_rate_factor == 0
    assert compose(["preset=fast", "likelihood=augmented", "optimizer=adam"]).optimizer.name == "adam"
    assert compose(["preset=paper", "likelihood=logit", "optimizer='natgrad'"]).optimizer.name == "natgrad"
    with pytest.raises(UsageError, match=r"preset paper trains likelihood augmented by natgrad, .* not by adam"):
        compose(["preset=paper", "likelihood=augmented", "optimizer=adam"])


def test_an_objective_that_a_likelihood_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="objective must be elbo for dirichlet, not 'predictive'"):
        compose(["likelihood=dirichlet", "objective=predictive"])


def test_tables_of_ones_own_have_categories_by_column_and_what_was_saved_before_by_level() -> None:
    config = compose(["dataset=file", "dataset.path=x.csv", "dataset.target=y"])
    assert config.dataset.categories == "column"
    stored = dataclasses.asdict(config)
    assert from_dict(stored).dataset.categories == "column"
    del stored["dataset"]["categories"]
    assert from_dict(stored).dataset.categories == "level"
    assert compose().dataset.categories == "level"
