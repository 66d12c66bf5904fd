"""Read held-out samples for an audit, as the model was trained on them where that is known."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from augnet.audit.load import AuditError, Loaded

if TYPE_CHECKING:
    from augnet.data import Collection, InputSpec


def read_collection(
    path: str | Path, loaded: Loaded, seed: int = 0, **options: Any
) -> "Collection":
    """Read labeled samples from a path, in the size and with the channels of the model."""
    from augnet.data import read, split
    from augnet.data.collection import draw_rows

    settings = loaded.settings
    trained = _is_same(settings.get("data"), path)
    if trained:  # read them as in training, so that the test samples are those of then
        known = {name: _plain(settings[name]) for name in options if name in settings}
        seed, most = int(settings.get("seed", 0)), options.get("max_samples")
        samples = read(path, loaded.spec, seed=seed, **options | known)
    else:
        samples = read(path, loaded.spec, seed=seed, **options)
    if samples.y is None:
        raise AuditError(f"{path} has no labels: an audit needs them")
    if trained:
        samples = split(samples, seed).test
        samples.log.note(f"{loaded.name} was trained on other samples of {path} than these")
        if most is not None and most < len(samples):
            samples = samples[draw_rows(samples.y, len(samples), most, seed)]
    elif settings.get("data") and Path(settings["data"]).name == Path(path).name:
        samples.log.note(
            f"{loaded.name} was trained on {settings['data']}: if these are the same samples, "
            "start from the same folder, so that only those are used that it was not trained on"
        )
    return samples


def _plain(value: Any) -> Any:
    """Return an option as it is given; files of settings have lists."""
    return tuple(value) if isinstance(value, list) else value


def _is_same(trained: object, path: str | Path) -> bool:
    """Whether the path of an audit is that of the training, seen from here."""
    return isinstance(trained, str) and Path(trained).resolve() == Path(path).resolve()


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
