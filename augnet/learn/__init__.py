"""Which transformations leave the label alone, and how far? One call, nothing to tune.

    x, y, words ──► doses of one word per sample ──► one trunk ──► error against dose, on samples
                                                                   that were not fitted
    error rises at once: none    rises at a dose: within that    does not rise: at least the limit

Read on in this order:

    door      what comes in, checked
    trunks    small networks, where the user brings none
    dose      a word at a known part of its limit
    profile   the training, and the ranges that grow with it
    measure   the error against the dose, and the verdicts
    curve     where the error begins to rise
    compose   the net at the end
    layers    the paper's selective layers instead
    found     what comes out
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Generator

from augnet.learn import door
from augnet.learn.compose import Composition
from augnet.learn.door import Trunk
from augnet.learn.found import Found, Invariance, Row, Verdict
from augnet.learn.layers import SelectiveLayers
from augnet.learn.profile import PART, Profile
from augnet.transforms import Word

__all__ = ["Found", "Invariance", "Verdict", "learn"]


def learn(
    x: Any,
    y: Any,
    words: str | Word | Iterable[Word] = "auto",
    *,
    layers: Iterable[Iterable[Word]] | None = None,
    trunk: Trunk = None,
    budget: int | float | str | None = None,
    seed: int = 0,
    progress: bool | Callable[[Row], object] = False,
    **shared: Any,
) -> Found:
    """Find for each word how far it may go before the label can no longer be told.

    `x` is a float tensor or array (N, ...), `y` whole numbers (classes) or floats (values).
    `words` are names, tables or Transforms, or "auto": all that fit; what they share, such as
    `sfreq=100` or `channels=[...]`, is given by name. `trunk` is a module, of which a copy is
    trained, or a function that makes one, of nothing or of (shape, outputs). `budget` is a whole
    number of epochs, or seconds: "30s" or 30.0. `progress` is True for a line now and then, or a
    function that is called with each row of the history, whose "done" goes from 0 to 1.
    With `layers`, lists of words, the paper's selective layers are trained on the ranges found, and
    there is one row for the word that each layer selected.

    One seed gives one result; the global random state is left alone.

    >>> import torch
    >>> from augnet import learn
    >>> y = torch.arange(64) % 2
    >>> x = 2.0 * y[:, None] - 1 + 0.1 * torch.randn(64, 2, generator=torch.manual_seed(0))
    >>> found = learn(x, y, ["sign-flip", {"word": "gaussian-noise", "limit": 0.2}], budget=60)
    >>> print(found)
    sign-flip: none
    gaussian-noise: at least 0.2 std (0.2 to 0.2)
    >>> found.net(x).argmax(1).equal(y)
    True
    """
    limit = door.seconds(budget)
    epochs = budget if isinstance(budget, int) and not isinstance(budget, bool) else None
    samples = door.data(x, y, Generator().manual_seed(seed))
    device = samples.x.device
    chosen = [door.candidates(some, samples.x, **shared) for some in layers or ()]
    if layers is None:
        candidates = door.candidates(words, samples.x, **shared)
    elif not chosen:
        raise ValueError("learn takes at least one layer, a list of words; got none")
    else:
        candidates = [word for some in chosen for word in some]
        candidates = [word for i, word in enumerate(candidates) if word not in candidates[:i]]
    generator = Generator(device=device).manual_seed(seed)
    report = _reporter(progress)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        net = door.trunk(trunk, samples)
        profile = Profile(samples, candidates, net, generator)
        history = report(profile.fit(epochs, None if limit is None else PART * limit))
        rows = profile.verdicts()
        built: Composition | SelectiveLayers
        if layers is None:
            built = Composition(samples, rows, net, generator)
        else:
            built = SelectiveLayers(samples, chosen, rows, net, generator)
        history += report(built.fit(max(1, profile.steps * 2 // 5), len(history) + 1))
        if isinstance(built, SelectiveLayers):
            rows = built.selected()
    return Found(tuple(rows), built.net, history)


def _reporter(progress: bool | Callable[[Row], object]) -> Callable[[Iterator[Row]], list[Row]]:
    """Collect rows, telling someone about each."""
    said = 0.0

    def tell(row: Row) -> None:
        nonlocal said
        if row["done"] < said + 0.05 and row["done"] < 1:
            return
        said = row["done"]
        parts = [f"{k} {v:.3g}" for k, v in row.items() if k not in ("phase", "epoch", "done")]
        sys.stderr.write(f"{said:4.0%} {row['phase']} epoch {row['epoch']}: {', '.join(parts)}\n")

    told = tell if progress is True else progress

    def collect(rows: Iterator[Row]) -> list[Row]:
        history = []
        for row in rows:
            history.append(row)
            if callable(told):
                told(row)
        return history

    return collect
