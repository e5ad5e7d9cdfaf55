"""The shape of a training configuration, one dataclass per Hydra group.

Hydra checks keys and types of `conf/` and of every override against these classes; `validate` checks the values. The
field names are the override keys, so `optimizer.learning_rate=0.005` on the command line is
`TrainConfig.optimizer.learning_rate` here. Values live in `conf/`, not here: a default below only stands where a group
need not say anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

# The `dataset.path` of a model that was fitted from arrays: there is no file, and there are no test rows.
IN_MEMORY = "(arrays in memory)"
# What may be said about a file of one's own, and belongs to dataset=file alone.
TABLE_KEYS = (
    *("treat", "drop", "keep", "columns", "missing", "na_values", "sep", "encoding", "weights", "categories"),
)
# The paper's method, whose settings are those of the groups likelihood, kernel, delta and optimizer.
SVGP = "svgp"


@dataclass
class DatasetConfig:
    name: str = MISSING
    source: str = "auto"  # auto | archive | generated | bayesian_benchmarks
    path: str | None = None  # your own file, with dataset=file
    target: str | None = None
    test_fraction: float = 0.1  # 0: train on all rows, without a test
    test_rows: str = "random"  # random | archive: the test file that comes with adult, pendigits and others
    holdout: float = 0.0  # score on this part of the training rows and leave the test rows alone
    calibration: float = 0.0  # keep this part of the training rows from training, to learn how far to trust the model
    storage: str = "auto"  # of training rows: memory | disk, read block by block | auto: disk where a file is too large
    # Your own file, read otherwise than it would be:
    treat: list[str] = field(default_factory=list)  # COLUMN=number | category | date | ignore
    drop: list[str] = field(default_factory=list)  # columns that are no features
    keep: list[str] = field(default_factory=list)  # columns that are no features, but carried into predictions
    columns: str | None = None  # a YAML file of lines COLUMN: kind
    missing: str = "impute"  # impute | refuse
    na_values: list[str] | None = None  # texts that mean missing, in place of the usual ones
    sep: str | None = None
    encoding: str | None = None
    weights: str | None = None  # a column that says how many rows each row counts as; no feature
    # How far apart the levels of a category are. level: each feature varies by one, so that a category counts as often
    # as it has levels; column: they vary by one together, like a number. New tables have column (config/compose.py);
    # models that are older than this have level.
    categories: str = "level"


@dataclass
class MethodConfig:
    name: str = SVGP
    settings: dict[str, Any] = field(default_factory=dict)  # of this method alone; conf/method says which there are


@dataclass
class LikelihoodConfig:
    name: str = MISSING
    noise_variance: float | None = None  # the paper's a; None for softmax
    bound: str = "gaussian"  # softmax: gumbel | tilted; augmented: mean-field | collapsed
    quadrature_points: int = 20  # nodes of the quadrature for S
    squash: float = 0.0  # step, probit, logit: the authors' code keeps every CDF in S 1e-4 from 0 and 1
    prediction_draws: int = 1000  # softmax predictions
    alpha_epsilon: float = 0.01  # dirichlet: what each class has without a label


@dataclass
class KernelConfig:
    name: str = MISSING
    ard: bool = False
    ard_by: str = "feature"  # ard: a lengthscale for each feature | column of your own table, whose features share it
    shared: bool | None = True  # one kernel for all classes, or one per class; null: one per class if they are few
    few_classes: int = 10
    apart: float = 0.0  # the kernels of two classes: about which part of themselves their lengthscales start apart
    lengthscale_start: str = MISSING  # paper: 0.1√d | data: median distance
    lengthscale: float | None = None  # an explicit start instead
    variance: float = 5.0
    log_scale: bool = False  # optimise variance and lengthscales by their logarithms


@dataclass
class DeltaConfig:
    mode: str = MISSING  # free | fixed | optimal
    value: float = 1e-3  # start (free, optimal) or value (fixed)
    prior: str = "none"  # none | beta


@dataclass
class OptimizerConfig:
    name: str = MISSING  # adam | natgrad
    learning_rate: float = MISSING  # Adam's rate
    inducing_rate_factor: float = 1.0  # natgrad: Adam's rate for the inducing points, relative to the above
    beta_2: float = 0.999  # Adam's memory of squared gradients
    natural_step: float = 0.1  # natgrad: largest step of q(u)
    natural_ramp: int = 20  # natgrad: steps until that size is reached
    longest_mean_step: float = 3.0  # natgrad: norm of a step of the mean, where the bound is not concave
    warm_up: int = 60  # first steps: natgrad follows a concave bound, and δ, where it is set to its optimum, stays low
    delta_start: float = 0.01  # the most of δ in the warm-up, as a part of the largest class's error
    delta_rate: float = 0.02  # the part of the way to its optimum that δ goes in a step
    delta_settling: float = 0.1  # the same in the warm-up, and when the other rates have fallen
    cycle: int = 0  # steps of the first annealed cycle; 0: the rates never change
    cycle_growth: float = 1.5  # how many times as long each further cycle is
    cycle_fall: float = 0.4  # the last part of a cycle, over which the rates fall
    early_stop: bool = False  # stop after a cycle that raised the bound too little
    tolerance: float = 0.01  # too little: this part of the loss of a row, or of 0.1 where that is less


@dataclass
class RuntimeConfig:
    precision: str = "mixed"  # mixed | float64 | float32
    device: str = "auto"  # auto | cpu | gpu
    devices: str = "1"  # how many share the minibatches of one model, or all
    threads: int = 0  # 0: all cores
    jitter: float = 1e-6
    eval_every: int = 0  # steps between test metrics; 0: twenty times a run
    checkpoint_seconds: float = 60.0
    chunk_rows: int = 2048  # rows per block of prediction


@dataclass
class TrainConfig:
    preset: str = MISSING
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    likelihood: LikelihoodConfig = field(default_factory=LikelihoodConfig)
    kernel: KernelConfig = field(default_factory=KernelConfig)
    delta: DeltaConfig = field(default_factory=DeltaConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)
    objective: str = "elbo"  # elbo | predictive, which is no bound on the evidence
    inducing: int = MISSING
    inducing_start: str = "minibatch"  # k-means: minibatch, one start | scipy, the best of several, as the authors
    batch_size: int = MISSING
    iterations: int = MISSING
    protocol: str = MISSING
    split: int = MISSING
    seed: int = MISSING
    class_weight: str | None = None  # balanced, JSON {class: weight}, or a file of it
    folds: int = 0  # cross-validation on the training rows in so many parts; 0: none
    out: str | None = None
    tracking: str = "none"  # none | tensorboard | mlflow
