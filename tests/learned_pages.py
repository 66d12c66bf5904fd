"""Models with given invariances, and their pages."""

import torch

from augnet import AugmentationLayer, AugmentationModule, AugNet, identity
from augnet.app.evaluate import evaluate
from augnet.app.page import page
from augnet.app.settings import Settings
from augnet.data import Collection, InputSpec, Split
from augnet.learn.inputs import Scaled
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.model.header import GainRecord, Measurement
from augnet.transforms import Contrast, HorizontalFlip, Invert, Rotate, Scale, TranslateX
from augnet.trunks.small import small_trunk

CHANCE = "the network is not better than chance"
SPAN = "the interval spans most of the search range, from 4° to 171°: more samples would narrow it"
ALL = (
    Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0), cost=0.004),
    Invariance(HorizontalFlip(), "reached_limit", 0.5, (0.5, 0.5), cost=-0.002),
    Invariance(Invert(), "not_invariant", 0.0, (0.0, 0.0), cost=0.31),
    Invariance(TranslateX(), "unclear", 0.0, (0.0, 0.2), cost=0.05, reason=SPAN),
    Invariance(Scale(), "unclear", 0.0, (0.0, 0.0), reason="no time"),
)
RANDOM = tuple(
    Invariance(transform, "unclear", 0.0, (0.0, 0.0), reason=CHANCE)
    for transform in (Rotate(90.0), HorizontalFlip(), Contrast())
)
WARNINGS = ("the budget was cut: 3 of 9 transforms were not measured", "classes are <1:10>")
GAIN = GainRecord(
    draws=2,
    score=0.95,
    plain_score=0.93,
    difference=0.02,
    interval=(-0.005, 0.045),
    averaging=0.004,
    scores=(0.93, 0.94, 0.95),
    compared=(0, 1, 2),
)


def model_of(rows, values=False, **measurement):
    """Return a model with these invariances, whose augmentation has the kept ones that help."""
    torch.manual_seed(0)
    used = [row for row in rows if row.kept and (row.benefit is None or row.benefit > 0)]
    layers = [AugmentationLayer(row.transform, magnitude=row.magnitude) for row in used]
    trunk = small_trunk((1, 12, 12), 1 if values else 3)
    if values:
        trunk = Scaled(trunk, torch.zeros(()), torch.ones(()))
    augment = AugmentationModule(*layers) if layers else identity
    net = AugNet(augment, trunk, "values" if values else "logits", copies=3).eval()
    return Model.of(
        net,
        (1, 12, 12),
        classes=() if values else ("cat", "dog", "bird"),
        input_spec=InputSpec(kind="images", shape=(1, 12, 12)),
        invariances=rows,
        measurement=Measurement(**measurement),
    )


def split_of(values=False):
    """Return a split of random images, whose parts are the same."""
    x = torch.rand(30, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    y = torch.arange(30) % 3
    spec = InputSpec(kind="images", shape=(1, 12, 12))
    names = tuple(map(str, range(30)))
    if values:
        some = Collection(x, y.float(), (), names, spec)
    else:
        some = Collection(x, y, ("cat", "dog", "bird"), names, spec)
    return Split(some, some)


def history_of(rows):
    """Return two epochs without transforms, a row for each transform, and two epochs of the net."""
    states = [{"name": row.transform.name, "strength": row.strength} for row in rows]
    phases = [("reference", [])] * 2 + [("transforms", [state]) for state in states]
    phases += [("compared", [])] * 2 + [("net", [])] * 2
    return [
        {"phase": phase, "epoch": number, "loss": 1.0 / number, "transforms": some}
        for number, (phase, some) in enumerate(phases, 1)
    ]


def page_of(model, split, seconds=None):
    """Return the page of a model."""
    evaluation = evaluate(model, split.test.x, split.test.y)
    history = history_of(model.invariances)
    return page(model, Settings.of("d"), evaluation, split, history, seconds)
