"""A predictor as one .npz: its arrays, the scaling, and a JSON text (`description`) of what rows and classes are.

`docs/serving.md` shows how little it takes to predict from the arrays without this package.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.predictor.kernels import Kernels, Part
from gpcnoise_cli.predictor.links import Link
from gpcnoise_cli.predictor.nodes import Array
from gpcnoise_cli.predictor.posterior import Posterior
from gpcnoise_cli.predictor.predictors import GaussianProcess, Network, Predictor

FORMAT = 1


@dataclass(frozen=True)
class Served:
    """A predictor for rows as they come: numbers in the order of `feature_names`, before scaling."""

    predictor: Predictor
    mean: Array
    scale: Array
    class_names: tuple[Any, ...]
    feature_names: tuple[str, ...]
    encoder: dict[str, Any]
    """How a table becomes such numbers: `gpcnoise_cli.data.TableEncoder.from_dict(served.encoder).encode(frame)`."""

    def predict_proba(self, X: Any) -> Array:
        """[n, C] for rows [n, d]."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.mean):
            raise ValueError(f"rows of shape {X.shape} are not [n, {len(self.mean)}]; see feature_names.")
        if not np.isfinite(X).all():
            raise ValueError("the rows hold values that are missing or infinite.")
        return self.predictor.predict((X - self.mean) / self.scale)

    def predict(self, X: Any) -> list[Any]:
        """The most probable class of each row, under its name."""
        return [self.class_names[number] for number in self.predict_proba(X).argmax(axis=1)]


def write(stream: IO[bytes], served: Served, about: Mapping[str, Any]) -> None:
    """`about` is kept in the description for the reader; nothing depends on it."""
    parts, arrays = _taken_apart(served.predictor)
    description = {
        "format": FORMAT,
        **parts,
        "class_names": list(served.class_names),
        "feature_names": list(served.feature_names),
        "encoder": served.encoder,
        "about": dict(about),
    }
    scaling = {"mean": served.mean, "scale": served.scale}
    np.savez(stream, description=np.array(json.dumps(description)), **scaling, **arrays)


def load(path: str | Path) -> Served:
    """What `gpcnoise export --format numpy` wrote."""
    try:
        return read(Path(path).read_bytes())
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
        raise GpcnoiseError(f"{path} is no predictor that can be read ({reason}); export it again.") from error


def read(content: bytes) -> Served:
    """The same from the bytes of such a file; whatever is wrong with them is raised as it comes."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    description = json.loads(str(arrays["description"]))
    if description["format"] != FORMAT:
        raise ValueError(f"its format is {description['format']}, and {FORMAT} is known here")
    return Served(
        _put_together(description, arrays),
        arrays["mean"],
        arrays["scale"],
        tuple(description["class_names"]),
        tuple(description["feature_names"]),
        description["encoder"],
    )


def _taken_apart(predictor: Predictor) -> tuple[dict[str, Any], dict[str, Array]]:
    if isinstance(predictor, Network):
        layers = enumerate(predictor.layers)
        return {"model": "network"}, {
            f"layer{number}.{name}": values
            for number, layer in layers
            for name, values in zip(("weights", "bias"), layer, strict=True)
        }
    assert isinstance(predictor, GaussianProcess)
    posterior, link = predictor.posterior, predictor.link
    arrays = {"Z": posterior.Z, "W": posterior.W, "Q": posterior.Q}
    for number, part in enumerate(posterior.kernels.parts):
        arrays |= {f"kernel{number}.lengthscales": part.lengthscales, f"kernel{number}.variance": part.variance}
    arrays |= {f"link.{name}": values for name, values in link.constants.items()}
    profiles = [part.profile for part in posterior.kernels.parts]
    return {"model": "gaussian process", "kernel": profiles, "link": link.kind}, arrays


def _put_together(description: Mapping[str, Any], arrays: Mapping[str, Array]) -> Predictor:
    num_classes = len(description["class_names"])
    if description["model"] == "network":
        count = sum(name.endswith(".bias") for name in arrays)
        layers = ((arrays[f"layer{number}.weights"], arrays[f"layer{number}.bias"]) for number in range(count))
        return Network(num_classes, tuple(layers))
    parts = tuple(
        Part(profile, arrays[f"kernel{number}.lengthscales"], arrays[f"kernel{number}.variance"])
        for number, profile in enumerate(description["kernel"])
    )
    posterior = Posterior(Kernels(parts), arrays["Z"], arrays["W"], arrays["Q"])
    constants = {name.removeprefix("link."): values for name, values in arrays.items() if name.startswith("link.")}
    return GaussianProcess(num_classes, posterior, Link(description["link"], constants))
