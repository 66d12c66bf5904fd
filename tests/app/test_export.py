"""What `augnet export` says about snippets."""

import pytest
import torch
from export_cases import learned
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
    return run("export", path, "--to", to)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(each) for each in arguments])


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


def test_measured_ranges_are_exported_whatever_the_net_uses(tmp_path):
    path = save(learned(0), tmp_path / "m.safetensors")
    made = run("export", path, "--to", "torchvision")
    assert made.exit_code == 0, made.output
    for text in (made.stdout, made.stderr):
        assert "The net of this model has no augmentation: none made it better" in text
        assert "equalize can be applied to all samples. Its probability is 0.5 here" in text
    assert made.stdout.count("v2.RandomChoice(transforms)") == 1
    assert "rotate ±27.0°" in made.stdout
    twice = run("export", path, "--to", "torchvision", "--draws", "2")
    assert twice.stdout.count("v2.RandomChoice(transforms)") == 2


@pytest.mark.parametrize(
    ("to", "draws", "message"),
    [
        ("kornia", "5", "draws is 1 to 4, the number of transforms; got 5"),
        ("pt2", "1", "--to pt2 writes the model as it is: leave out --draws"),
    ],
)
def test_draws_that_do_not_fit_are_refused(to, draws, message, tmp_path):
    path = save(learned(1), tmp_path / "m.safetensors")
    refused = run("export", path, "--to", to, "--draws", draws, "--out", tmp_path / "o")
    assert refused.exit_code == 2
    assert message in refused.output
    assert not (tmp_path / "o").exists()
