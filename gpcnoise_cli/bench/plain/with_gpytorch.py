"""A sparse variational classifier with GPyTorch, in the way its notebooks go: SPLIT.npz PREDICTIONS.npz STEPS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpytorch
import numpy as np
import torch

INDUCING, BATCH_SIZE, LEARNING_RATE = 300, 1024, 0.01
ROWS_AT_A_TIME = 2048
DRAWS = 100


class Classifier(gpytorch.models.ApproximateGP):
    """Zero mean and one scaled RBF kernel for all latent functions."""

    def __init__(self, Z: torch.Tensor, latent: int) -> None:
        batch = torch.Size([latent]) if latent > 1 else torch.Size([])
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z), batch_shape=batch)
        strategy = gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True)
        if latent > 1:
            strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, num_tasks=latent)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1]))
        self.covar_module.base_kernel.lengthscale = float(np.sqrt(Z.shape[1]))
        self.covar_module.outputscale = 1.0

    def forward(self, X: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def main(split: Path, predictions: Path, steps: int) -> None:
    with np.load(split) as arrays:
        X, X_test = (torch.from_numpy(arrays[name]).float() for name in ("X_train", "X_test"))
        y, classes = torch.from_numpy(arrays["y_train"]), int(arrays["classes"])
    binary = classes == 2
    torch.manual_seed(0)
    model = Classifier(X[:INDUCING].clone(), 1 if binary else classes)  # the rows come shuffled
    likelihood: Any = (
        gpytorch.likelihoods.BernoulliLikelihood()
        if binary
        else gpytorch.likelihoods.SoftmaxLikelihood(num_classes=classes, mixing_weights=False)
    )
    y = y.float() if binary else y.long()
    model.train()
    likelihood.train()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    adam = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for _, rows in zip(range(steps), batches(len(X)), strict=False):
        adam.zero_grad()
        loss = -objective(model(X[rows]), y[rows])
        loss.backward()
        adam.step()

    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(DRAWS):
        p = torch.cat(
            [likelihood(model(rows)).probs.double() for rows in X_test.split(ROWS_AT_A_TIME)], dim=-1 if binary else -2
        )
    # one value per row under Bernoulli; [draws, rows, classes] under softmax, to be averaged
    probabilities = torch.stack([1 - p, p], dim=1) if binary else p.mean(dim=0)
    np.savez(predictions, probabilities=probabilities.numpy())
    torch.save(model.state_dict(), predictions.with_suffix(".model"))


def batches(n: int) -> Iterator[torch.Tensor]:
    """Numbers of rows, each row once a pass, without end."""
    while True:
        yield from torch.randperm(n).split(BATCH_SIZE)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
