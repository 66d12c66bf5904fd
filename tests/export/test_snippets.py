"""What was learned, in other libraries' terms: it runs, and gives the same kinds of views."""

import ast
import json

import pytest
import torch
from specimens import inputs, specimen

from augnet import TRANSFORMS, AugmentationLayer, AugmentationModule, build_transforms, identity
from augnet.data import InputSpec
from augnet.export import LIBRARIES, export
from augnet.transforms import COLOR_IMAGES, SIGNALS, Rotate, SamplePairing, TimeReverse


def module(*layers, magnitude=0.6):
    return AugmentationModule(
        AugmentationLayer(*layer, magnitude=magnitude) for layer in layers
    ).eval()


def executed(snippet):
    names = {}
    exec(compile(snippet.text, "snippet", "exec"), names)
    return names["augment"]


def moments(augment, x, draws=40):
    """Give mean and spread over the params, of the views of each sample."""
    views = torch.stack([augment(x) for _ in range(draws)])
    return views.mean(0), views.std(0)


def alike(name, library, x, mean=0.12, spread=0.15):
    """Compare the distributions of views, as parts of how far views are from their samples."""
    ours = module([specimen(name)])
    theirs = executed(export(ours, library))
    torch.manual_seed(0)
    one, other = moments(ours, x), moments(theirs, x)
    moved = (x - one[0]).square().mean().sqrt() + one[1].square().mean().sqrt()
    assert moved > 0.01
    assert (one[0] - other[0]).square().mean().sqrt() < (mean + 2 / 40**0.5) * moved
    assert abs(one[1].square().mean().sqrt() - other[1].square().mean().sqrt()) < spread * moved


def smooth(batch=6):
    """Images whose views do not depend on how pixels are interpolated."""
    x = inputs(COLOR_IMAGES, batch)
    return (
        torch.nn.functional.avg_pool2d(x, 7, 1, 3, count_include_pad=False)
        .sub(0.5)
        .mul(3)
        .add(0.5)
        .clamp(0, 1)
    )


@pytest.mark.parametrize("name", sorted(LIBRARIES["kornia"].lines))
def test_kornia_gives_the_same_views(name):
    pytest.importorskip("kornia")
    alike(name, "kornia", smooth())


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")  # of MNE, in braindecode
@pytest.mark.parametrize("name", sorted(LIBRARIES["braindecode"].lines))
def test_braindecode_gives_the_same_views(name):
    pytest.importorskip("braindecode")
    x = inputs(SIGNALS, 6)
    if name == "bandstop":  # a filter with long flanks: only long signals show where it stops
        x = torch.randn(6, 6, 2000, generator=torch.Generator().manual_seed(0))
    alike(name, "braindecode", x)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_line_parses_and_every_name_is_a_transform(library):
    known = LIBRARIES[library].lines
    assert set(known) <= set(TRANSFORMS)
    layers = [[specimen(name)] for name in TRANSFORMS]
    made = export(module(*layers, [specimen(name) for name in sorted(known)[:3]]), library)
    ast.parse(made.text)
    assert len(made.missing) == len(TRANSFORMS) - len(known)


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("torchvision", "v2.RandomAffine(degrees=(-27, 27)),  # rotate ±27.0°"),
        ("albumentations", "A.Affine(rotate=(-27, 27), p=1.0),"),
        ("kornia", "K.RandomAffine(degrees=(-27, 27), p=1.0),"),
    ],
)
def test_numbers_are_those_that_were_learned(library, message):
    assert message in export(module([Rotate(90.0)], magnitude=0.3), library).text


def test_transforms_that_a_library_does_not_have_are_listed():
    made = export(module([Rotate(90.0)], [SamplePairing()]), "kornia")
    assert made.missing == ("sample_pairing up to 0.240 of another sample",)
    assert "kornia has no transform for sample_pairing" in made.text
    assert executed(made) is not None
    nothing = export(module([TimeReverse()]), "kornia")
    assert "none of the learned transforms" in nothing.text
    x = inputs(COLOR_IMAGES)
    assert executed(nothing)(x).equal(x)
    assert executed(export(identity, "kornia"))(x).equal(x)


def test_layers_that_choose_choose_per_sample():
    pytest.importorskip("kornia")
    layer = build_transforms(
        [{"name": "invert", "limit": 1.0}, {"name": "horizontal_flip", "limit": 1.0}]
    )
    made = export(module(layer, magnitude=1.0), "kornia")
    torch.manual_seed(0)
    x = inputs(COLOR_IMAGES, 400)
    view = executed(made)(x)
    inverted = (view - (1 - x)).abs().flatten(1).amax(1) < 1e-5
    assert 0.4 < inverted.float().mean() < 0.6
    assert view[~inverted].equal(x[~inverted].flip(-1))
    for library in ("torchvision", "albumentations"):
        text = export(module(layer, magnitude=1.0), library).text
        ast.parse(text)
        assert "0.5" in text


def test_numbers_of_scaled_signals_are_explained():
    spec = InputSpec(kind="signals", shape=(6, 256), center=(1.0,), scale=(2e-5,))
    text = export(module([specimen("gaussian_noise")]), "braindecode", spec).text
    assert "center (1), scale (2e-05)" in text


def test_a_policy_is_data():
    made = json.loads(export(module([Rotate(90.0), *build_transforms("shear_x")]), "policy").text)
    first, second = made["layers"][0]
    assert (first["name"], first["limit"], first["weight"]) == ("rotate", 90.0, 0.5)
    assert first["strength"] == pytest.approx(54)
    assert build_transforms([{k: second[k] for k in ("name", "limit")}]) == build_transforms(
        "shear_x"
    )


def test_unknown_libraries_are_refused():
    with pytest.raises(ValueError, match="did you mean 'kornia'"):
        export(identity, "cornia")
