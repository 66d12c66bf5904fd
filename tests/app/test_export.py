"""What `augnet export` says about snippets."""

import pytest
import torch
from specimens import specimen
from typer.testing import CliRunner

from augnet import AugmentationLayer, AugmentationModule, AugNet, identity
from augnet.__main__ import app
from augnet.model import Model, save
from augnet.trunks import build_trunk

SHAPES = {"images": (1, 12, 12), "signals": (2, 64), "vectors": (3,)}


def exported(tmp_path, kind, to, *names):
    """Export a model that was not learned from files, with two equal layers."""
    torch.manual_seed(0)
    augment = identity
    if names:
        transforms = [specimen(name) for name in names]
        layers = (AugmentationLayer(*transforms, mixing="drawn") for _ in range(2))
        augment = AugmentationModule(*layers)
    net = AugNet(augment, build_trunk("small", SHAPES[kind], 2)).eval()
    path = save(Model.of(net, SHAPES[kind], classes=("a", "b")), tmp_path / "m.safetensors")
    arguments = ["export", str(path), "--to", to]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)


def test_transforms_that_a_library_lacks_are_named(tmp_path):
    made = exported(tmp_path, "images", "kornia", "rotate", "sample_pairing")
    assert made.exit_code == 0, made.output
    assert "kornia has no transform for sample_pairing up to 0.200 of another" in made.stderr
    compile(made.stdout, "snippet", "exec")
    assert made.stdout.count("K.RandomAffine") == 1
    assert made.stdout.count("Choice(transforms)") == 2


@pytest.mark.parametrize(
    ("kind", "to", "names", "message"),
    [
        ("signals", "kornia", ["sign_flip"], "kornia is for images, and this model is for signals"),
        ("vectors", "torchvision", ["sign_flip"], "for vectors of shape (3,): export it to policy"),
        ("signals", "albumentations", [], "(2, 64): export it to braindecode or policy"),
        ("vectors", "braindecode", ["sign_flip"], "braindecode is for signals, and this model is"),
        ("images", "braindecode", ["rotate"], "to kornia, torchvision, albumentations or policy"),
    ],
)
def test_libraries_for_other_samples_are_refused(kind, to, names, message, tmp_path):
    refused = exported(tmp_path, kind, to, *names)
    assert refused.exit_code == 2
    assert message in refused.output
    assert refused.stdout == ""
