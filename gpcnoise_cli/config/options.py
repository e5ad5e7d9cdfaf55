"""The options of a training run, said once.

Each row of `OPTIONS` is an option of `gpcnoise train`: the configuration key or group that it sets, its flags and help,
the flag that has its place in `gpcnoise reproduce uci`, and the parameter of the estimator. The command line, the
estimator and the commands that repeat a result are all derived from this table, which imports nothing heavy. Values
are plain texts that the configuration checks, so that a wrong one is answered in one sentence, with the nearest right
ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpcnoise_cli.config.groups import GROUPS, VALUES, choices, either, name_key
from gpcnoise_cli.config.quoting import assign
from gpcnoise_cli.errors import UsageError
from gpcnoise_cli.likelihoods.registry import DELTA_MODES, LIKELIHOODS

if TYPE_CHECKING:
    from gpcnoise_cli.config.schema import TrainConfig

# Values in the order of a list that is not sorted by name.
_ORDERED = {"likelihood": tuple(LIKELIHOODS), "delta": DELTA_MODES}


@dataclass(frozen=True)
class Option:
    """One row: what is set, and what it is called where."""

    key: str
    """A key of the configuration, or a group."""
    flags: tuple[str, ...]
    """`--name` and its short form, or `--name/--other` for true and false; none where only the estimator has it."""
    metavar: str | None
    """The word for its value; None for what is true or false."""
    panel: str
    text: str
    """Its help; CHOICES stands for the values there are."""
    grid: str | None = None
    """The flag of `reproduce uci` for the same; an override would file results under a wrong name."""
    parameter: str | None = None
    """The estimator's parameter."""
    inverted: bool = False
    """Whether the flag says the opposite of the key."""
    repeated: bool = False
    """Whether it may be given several times; the key holds a list."""

    @property
    def name(self) -> str:
        """The option as an argument of a function: `--batch-size` is `batch_size`."""
        return self.flags[0].partition("/")[0].lstrip("-").replace("-", "_")

    @property
    def help(self) -> str:
        return self.text.replace("CHOICES", either(self.values()))

    def values(self) -> Sequence[str]:
        """The texts that it accepts; none where there is no list of them."""
        if self.key in GROUPS:
            return _ORDERED.get(self.key) or choices(self.key)
        return VALUES.get(self.key, ())

    def value_in(self, config: TrainConfig) -> Any:
        """What `config` holds for it: where it is a group, the name of what was chosen."""
        return attrgetter(name_key(self.key) if self.key in GROUPS else self.key)(config)

    def words(self, value: Any) -> list[str]:
        """The command-line words that set its key to `value`."""
        if self.repeated:
            return [word for one in value or () for word in (self.flags[0], str(one))]
        if self.metavar is not None:
            return [self.flags[0], str(value)]
        yes, _, no = self.flags[0].partition("/")
        return [yes if bool(value) is not self.inverted else no]


_DATA, _MODEL, _TRAINING, _RUN = "Data", "Model", "Training", "Run"
OPTIONS = (
    Option(
        "dataset", ("--dataset",), "NAME", _DATA,
        "A registered data set (`gpcnoise data list`). Default: waveform-noise, generated, no download.",
        grid="--datasets",
    ),
    Option(
        "dataset.path", ("--data",), "FILE", _DATA,
        "Your own table (CSV, TSV, JSON lines, Parquet, Feather, Excel; a folder or a quoted pattern of such files; "
        "- is standard input); needs --target.",
    ),
    Option("dataset.target", ("--target",), "COLUMN", _DATA, "The column of --data that holds the class."),
    Option(
        "dataset.treat", ("--treat",), "COLUMN=KIND", _DATA,
        "Take a column of --data as number, category or date, or ignore it. May be repeated.", repeated=True,
    ),
    Option(
        "dataset.drop", ("--drop",), "COLUMN", _DATA, "Leave a column of --data out. May be repeated.", repeated=True,
    ),
    Option(
        "dataset.keep", ("--keep",), "COLUMN", _DATA,
        "Carry a column of --data into predictions; it is no feature. May be repeated.", repeated=True,
    ),
    Option("dataset.columns", ("--columns",), "FILE.yaml", _DATA, "What columns are, as lines `COLUMN: KIND`."),
    Option(
        "dataset.missing", ("--missing",), "POLICY", _DATA,
        "Missing values of --data: impute (medians, a level of their own) or refuse. Default: impute.",
    ),
    Option(
        "dataset.na_values", ("--na-values",), "TEXT", _DATA,
        "A text that means missing, in place of NA, null, None, … May be repeated; '' leaves only empty cells.",
        repeated=True,
    ),
    Option(
        "dataset.weights", ("--weights",), "COLUMN", _DATA,
        "A column of --data that says how many rows each row counts as in training; it is no feature.",
    ),
    Option("dataset.sep", ("--sep",), "CHAR", _DATA, "What separates the columns of --data. Default: found."),
    Option("dataset.encoding", ("--encoding",), "NAME", _DATA, "The encoding of --data. Default: found."),
    Option(
        "protocol", ("--protocol",), "NAME", _DATA,
        "clean, or paper (row number as a feature, scaling over all rows). Default: clean.",
        grid="--protocol",
    ),
    Option(
        "folds", ("--folds",), "K", _DATA,
        "Cross-validate in K parts, then train on all rows; no test rows unless dataset.test_fraction is given.",
    ),
    Option(
        "dataset.calibration", ("--calibration-rows",), "PART", _DATA,
        "Keep this part of the rows from training, for `predict` --sets, --calibrate and --flag-far. Default: 0.",
    ),
    Option("split", ("--split",), "K", _DATA, "Which random train/test split. Default: 0.", grid="--splits"),
    Option(
        "method", ("--method",), "NAME", _MODEL, "What is trained: CHOICES. Default: svgp.",
        grid="--methods", parameter="method",
    ),
    Option(
        "likelihood", ("--likelihood",), "NAME", _MODEL, "CHOICES. Default: softmax.",
        grid="--likelihoods", parameter="likelihood",
    ),
    Option(
        "kernel", ("--kernel",), "NAME", _MODEL, "CHOICES. Default: rbf.",
        grid="--kernel", parameter="kernel",
    ),
    Option(
        "kernel.ard", ("--ard/--no-ard",), None, _MODEL, "One lengthscale per feature, or one for all. Default: ard.",
        parameter="ard",
    ),
    Option(
        "kernel.shared", ("--kernel-per-class/--shared-kernel",), None, _MODEL,
        "A kernel of its own for each class, or one for all. Default: by preset.",
        inverted=True,
    ),
    Option("inducing", ("--inducing", "-m"), "M", _MODEL, "Number of inducing points. Default: 300."),
    Option(
        "delta", ("--delta",), "MODE", _MODEL, "How the label noise δ is set: CHOICES. Default: by preset.",
        parameter="delta",
    ),
    Option("likelihood.bound", (), "NAME", _MODEL, "", parameter="bound"),
    Option(
        "objective", ("--objective",), "NAME", _TRAINING,
        "elbo, or predictive: the log density of the labels, no bound on the evidence. Default: elbo.",
        parameter="objective",
    ),
    Option(
        "preset", ("--preset",), "NAME", _TRAINING,
        "fast, or paper (its settings to the letter, 10000 steps). Default: fast.",
        grid="--preset", parameter="preset",
    ),
    Option("batch_size", ("--batch-size",), "ROWS", _TRAINING, "Rows per minibatch. Default: 1024."),
    Option(
        "iterations", ("--iterations",), "STEPS", _TRAINING, "Number of steps. Default: by preset.",
        grid="--iterations", parameter="iterations",
    ),
    Option(
        "optimizer.learning_rate", ("--learning-rate",), "RATE", _TRAINING, "Adam's rate. Default: by preset.",
        parameter="learning_rate",
    ),
    Option(
        "class_weight", ("--class-weight",), "WEIGHTS", _TRAINING,
        "balanced, or JSON {class: weight}, or a CSV or JSON file: how many rows one of a class counts as. Default: 1.",
    ),
    Option("seed", ("--seed",), "NUMBER", _TRAINING, "Seed of everything random but the split. Default: 0."),
    Option(
        "runtime.precision", ("--precision",), "NAME", _RUN, "CHOICES. Default: mixed.",
        parameter="precision",
    ),
    Option("runtime.device", ("--device",), "NAME", _RUN, "CHOICES. Default: auto."),
    Option(
        "runtime.devices", ("--devices",), "N", _RUN,
        "How many devices share the minibatches of one model, or all (docs/scale.md). Default: 1.",
    ),
    Option("out", ("--out",), "DIR", _RUN, "The run folder. Default: a new one in runs/.", grid="--results"),
)  # fmt: skip

BY_KEY = {option.key: option for option in OPTIONS}
OF_TRAIN = tuple(option for option in OPTIONS if option.flags)
PARAMETERS = {option.parameter: option for option in OPTIONS if option.parameter is not None}


def overrides_for(given: Mapping[str, Any], raw: Sequence[str] = ()) -> list[str]:
    """The Hydra overrides that options stand for, by their names and None where not given, followed by the raw ones."""
    asked = {option.key: given.get(option.name) for option in OF_TRAIN}
    path, target, dataset = asked["dataset.path"], asked["dataset.target"], asked["dataset"]
    if path is not None:
        if dataset not in (None, "file"):
            raise UsageError(f"--data and --dataset {dataset} name two data sets; give one of them.")
        if target is None:
            raise UsageError("--data needs --target COLUMN: the column that holds the class.")
        asked["dataset"] = "file"
    elif target is not None and dataset != "file":
        raise UsageError(f"--target {target!r} needs --data FILE: registered data sets know their class column.")
    folds = [asked["folds"], *(text.partition("=")[2] for text in raw if text.startswith("folds="))][-1]
    if folds not in (None, "0") and not any(text.startswith("dataset.test_fraction=") for text in raw):
        raw = ["dataset.test_fraction=0", *raw]  # every row is scored once, by a model that has not seen it
    wanted = {key: value for key, value in asked.items() if value is not None and value != []}
    return [assign(key, not value if BY_KEY[key].inverted else value) for key, value in wanted.items()] + [*raw]
