"""What a run does when its numbers fail it; all of it is said as it happens, and stands in the result.

Where the working precision is not enough for the state at the end of a cycle, the jitter is raised and, if that does
not help, the run goes on in float64. A run whose loss rises far above its best returns to its best state, in float64 or
with smaller steps. Lengthscales that were taken from the data, and taught nothing in the first cycle, are replaced by
the paper's short ones. A step that cannot be computed moves nothing, and the next has more jitter or is shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.models.kernels import scale_lengthscales, start_lengthscale
from gpcnoise_cli.models.predict import raise_jitter
from gpcnoise_cli.training import hosts
from gpcnoise_cli.training.assessment import Assessment
from gpcnoise_cli.training.stopping import WORSE, learned_nothing

if TYPE_CHECKING:
    from gpcnoise_cli.training.trainer import Trainer

# Jitter as a part of the prior variance: the most that is added for the sake of the working precision.
LARGEST_FOR_PRECISION = 1e-4
MOST_RETURNS = 5


def trusted(run: Trainer) -> Assessment:
    """An assessment in a precision that can be trusted: with more jitter, or in float64, where that is needed."""
    found = run.assessment()
    if found.trustworthy or run.model.work == tf.float64 or np.isneginf(found.bound):
        return found  # what cannot be computed at all is met by the next step
    where = f"at step {run.step} rounding moves the log likelihood of a row by {found.rounding:.2g} on average"
    usual = float(run.model.jitter.numpy())
    while 2 * float(run.model.jitter.numpy()) < LARGEST_FOR_PRECISION:
        run.model.jitter.assign(10 * float(run.model.jitter.numpy()))
        steadier = run.assessment()
        if steadier.trustworthy and steadier.bound > found.bound - WORSE * abs(found.bound):
            run.incident(f"{where}: jitter raised to {float(run.model.jitter.numpy()):.0e} of the prior variance.")
            return steadier
    run.model.jitter.assign(usual)
    if run.model.exact == tf.float64:
        run.incident(f"{where}: going on in float64.")
        run.use_float64()
    elif not any("take --precision" in said for said in run.history.incidents):
        run.incident(f"{where}, and jitter does not help: take --precision mixed or float64.")
    return run.assessment()


def return_to_best(run: Trainer) -> None:
    """The loss has risen far above its best: go back there, and on with more care."""
    history, step = run.history, run.step
    history.returns += 1
    lost = f"the loss rose to {history.windows[-1]:.5g} from {min(history.windows):.5g} by step {step}: "
    unsafe = run.model.work != run.model.exact and (history.returns > 1 or not run.assessment().trustworthy)
    run.restore()
    if history.returns > MOST_RETURNS:
        run.schedule.stop(step)
        run.incident(lost + "ending with the best state, since returning to it has not helped.")
    elif unsafe:
        run.use_float64()
        run.incident(lost + "back to the best state, and on in float64.")
    else:
        run.schedule.scale.assign(run.schedule.scale / 2)
        run.incident(lost + "back to the best state, and on with steps half as long.")


def has_learned_nothing(run: Trainer, bound: float) -> bool:
    shares = run.shares()
    if not learned_nothing(-bound / run.split.total_weight, shares):  # the nll is no larger
        return False
    p = run.probabilities(run.assessor.X.numpy())
    observed = np.take_along_axis(p, run.assessor.Y.numpy(), axis=1)
    nll = -run.assessor.mean(np.log(np.maximum(observed[:, 0], 1e-12)))
    return bool(hosts.of_chief(learned_nothing(nll, shares))[0])


def start_again(run: Trainer) -> None:
    """From the first state, but with the paper's lengthscales."""
    (X, _), seed, weights = run.split.first_rows(), run.config.seed, run.split.weights
    before, after = (start_lengthscale(start, X, seed, weights, run.split.units) for start in ("data", "paper"))
    run.restore(run.start)
    scale_lengthscales(run.model.kernel, after / before)
    # Losses from before are no measure of the new start.
    windows = run.history.windows
    run.history.windows = [max(windows, default=0.0)] * len(windows)
    run.incident(
        f"nothing was learned in {run.step} steps from a lengthscale of {before:.3g}: starting again from {after:.3g}."
    )


def recover(run: Trainer) -> None:
    """A step failed and moved nothing: raise the jitter, soften the optimizer, or give up with a sentence."""
    where = f"at step {run.step}"
    if not all(np.all(np.isfinite(variable.numpy())) for variable in run.model.trainable_variables):
        raise GpcnoiseError(f"a parameter is not a finite number {where}; try a smaller --learning-rate.")
    if not _kernel_matrix_factorises(run):
        jitter = raise_jitter(run.model, f"at step {run.step}")
        run.incident(f"the kernel matrix is nearly singular {where}: jitter raised to {jitter:.0e}.")
    elif run.optimizer.soften():
        run.incident(f"the natural-gradient step failed {where}: halving it.")
    else:
        raise GpcnoiseError(
            f"the loss is not a finite number {where}; try a smaller --learning-rate or --precision float64."
        )


def _kernel_matrix_factorises(run: Trainer) -> bool:
    try:
        return all(np.all(np.isfinite(factor.numpy())) for factor in run.model.kernel_factors())
    except tf.errors.InvalidArgumentError:
        return False
