"""GPyTorch's SVGP in a process of its own: TensorFlow and PyTorch do not share one well.

Run as a script by any interpreter that has GPyTorch; it imports nothing of this package. It answers each line of JSON
on stdin with one on stdout: first a case to build, then numbers of steps to time. The model is the whitened
`VariationalStrategy` with a full covariance. The C latent functions share the inducing points and, unless the case has
one kernel for each, the kernel too, which is GPyTorch's quickest form (kernel matrices once, not C times).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import gpytorch
import numpy as np
import torch


class Classifier(gpytorch.models.ApproximateGP):
    """Zero mean, scaled RBF kernel, q(u) with a full Cholesky factor per latent function."""

    def __init__(self, Z: torch.Tensor, case: dict[str, Any]) -> None:
        latent = case["C"]
        batch = torch.Size([latent]) if latent > 1 else torch.Size([])
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z), batch_shape=batch)
        strategy = gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True)
        if latent > 1:
            strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, num_tasks=latent)
        super().__init__(strategy)
        kernels = torch.Size([]) if case["shared"] else batch
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1] if case["ard"] else None, batch_shape=kernels),
            batch_shape=kernels,
        )
        self.covar_module.base_kernel.lengthscale = case["lengthscale"]
        self.covar_module.outputscale = case["variance"]

    def forward(self, X: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def build(case: dict[str, Any]) -> Callable[[], float]:
    """One training step of `case`, as a function that returns the loss on the scale of all rows."""
    torch.manual_seed(0)
    with np.load(case["arrays"]) as arrays:
        X, y, Z = (torch.from_numpy(arrays[name]) for name in ("X", "y", "Z"))
    X, Z, latent, rows, batch_size = X.float(), Z.float(), case["C"], len(X), min(case["batch_size"], len(X))
    y = y.float() if latent == 1 else y.long()
    model = Classifier(Z, case)
    likelihood = (
        gpytorch.likelihoods.BernoulliLikelihood()
        if latent == 1
        else gpytorch.likelihoods.SoftmaxLikelihood(num_classes=latent, mixing_weights=False)
    )
    model.train()
    likelihood.train()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=rows)
    adam = torch.optim.Adam(model.parameters(), lr=case["learning_rate"])
    order, position = torch.randperm(rows), 0

    def step() -> float:
        nonlocal order, position
        if position + batch_size > rows:
            order, position = torch.randperm(rows), 0
        batch = order[position : position + batch_size]
        position += batch_size
        adam.zero_grad()
        loss = -objective(model(X[batch]), y[batch])
        loss.backward()
        adam.step()
        return float(loss.detach()) * rows

    return step


def main() -> None:
    def answer(content: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(content) + "\n")
        sys.stdout.flush()

    answer({"gpytorch": gpytorch.__version__, "torch": torch.__version__})
    step = build(json.loads(sys.stdin.readline()))
    answer({"first_loss": step()})
    for line in sys.stdin:
        began = time.perf_counter()
        for _ in range(int(line)):
            step()
        answer({"seconds": time.perf_counter() - began})


if __name__ == "__main__":
    main()
