"""Read held-out samples for an audit, as the model was trained on them where that is known."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from augnet.audit.load import AuditError, Loaded
from augnet.text import printable

if TYPE_CHECKING:
    from augnet.data import Collection, InputSpec


def read_collection(
    path: str | Path, loaded: Loaded, seed: int = 0, **options: Any
) -> "Collection":
    """Read labeled samples from a path, in the size and with the channels of the model."""
    from augnet.data import read, split

    samples = read(path, loaded.spec, seed=seed, **options)
    if samples.y is None:
        raise AuditError(f"{path} has no labels: an audit needs them")
    settings = loaded.settings
    if settings.get("data") == printable(path):  # the model was trained on most of these
        samples = split(samples, int(settings.get("seed", 0))).test
        samples.log.note(f"{loaded.name} was trained on other samples of {path} than these")
    return samples


def fitted_spec(samples: "Collection", loaded: Loaded) -> "InputSpec":
    """Return how samples are scaled: as for the model, or else by these samples."""
    return loaded.spec or samples.input_spec.fitted(samples.x)


def read_samples(
    path: str | Path, loaded: Loaded, seed: int = 0, **options: Any
) -> tuple[Tensor, Tensor, "InputSpec", tuple[str, ...]]:
    """Read samples scaled as `learn` takes them, labels, the scaling, and names of classes."""
    samples = read_collection(path, loaded, seed, **options)
    spec = fitted_spec(samples, loaded)
    assert samples.y is not None
    return spec.prepare(samples.x), samples.y, spec, samples.classes
