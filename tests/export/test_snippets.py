"""What was learned, in other libraries' terms: it runs, and gives the same kinds of views."""

import ast
import json
from collections import Counter

import pytest
import torch
from export_cases import (
    IDENTITY,
    LAYERS,
    PADDED,
    alike,
    alone,
    drawn,
    executed,
    known,
    module,
    offered,
    signals,
    smooth,
    torch_views,
)
from specimens import CHANNELS, inputs, specimen

from augnet import AugmentationLayer, AugmentationModule, build_transforms, identity
from augnet.data import InputSpec
from augnet.export import LIBRARIES, export
from augnet.export.libraries.base import whole_bits
from augnet.export.steps import layers
from augnet.transforms import (
    COLOR_IMAGES,
    SIGNALS,
    Autocontrast,
    Brightness,
    Cutout,
    GaussianNoise,
    HorizontalFlip,
    Invert,
    Posterize,
    Rotate,
    SamplePairing,
    Scale,
    SensorRotationY,
    Sharpness,
    ShearX,
    SignFlip,
    Solarize,
    TimeReverse,
    TranslateX,
)

IMAGE_LIBRARIES = ("kornia", "torchvision", "albumentations")
FLIPS = (HorizontalFlip(1.0), Invert(1.0), IDENTITY)


@pytest.mark.parametrize("name", known("kornia"))
def test_kornia_gives_the_same_views(name):
    pytest.importorskip("kornia")
    ours, x = alone(name), smooth()
    alike(ours, torch_views(export(ours, "kornia"), x), x)


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")  # of MNE, in braindecode
@pytest.mark.parametrize("name", known("braindecode"))
def test_braindecode_gives_the_same_views(name):
    pytest.importorskip("braindecode")
    ours, x = alone(name), signals(name)
    alike(ours, torch_views(export(ours, "braindecode"), x), x)


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")  # of MNE
def test_electrodes_of_any_spelling_and_place_are_exported_to_braindecode():
    pytest.importorskip("braindecode")
    x = inputs(SIGNALS)
    channels = tuple(name.lower() for name in CHANNELS)
    lower = SensorRotationY(channels=channels)
    positions = ((1, 0, 0.5), (-1, 0, 0.5), (0.5, 1, 0.2), (-0.5, 1, 0.2), (0, 0, 1), (0.3, -1, 0))
    placed = SensorRotationY(channels=("a", "b", "c", "d", "e", "f"), positions=positions)
    for transform in (lower, placed):
        ours = module([transform])
        alike(ours, torch_views(export(ours, "braindecode"), x), x)


def test_kornia_makes_channels_of_one_value_black():
    """The difference that snippets name."""
    pytest.importorskip("kornia")
    x = torch.full((1, 3, 8, 8), 0.4)
    x[:, 0, :4] = 0.6
    ours = module([Autocontrast(1.0)], magnitude=1.0)
    view = executed(export(ours, "kornia"))(x)
    assert view[:, 0].allclose(ours(x)[:, 0], atol=1e-3)
    assert view[:, 1:].eq(0).all()
    assert ours(x)[:, 1:].equal(x[:, 1:])


def test_albumentations_scales_both_sides_by_one_factor():
    text = export(module([Scale(2.0)], magnitude=1.0), "albumentations").text
    assert "A.Affine(scale=(0.5, 2), keep_ratio=True, p=1.0)," in text


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_a_pivot_that_a_library_does_not_have_is_named(library):
    said = export(module([ShearX(0.2, pivot="corner")]), library).text
    assert "has no pivot 'corner': 'center' is used" in said
    assert "pivot" not in export(module([ShearX(0.2)]), library).text


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_line_parses_and_every_name_is_a_transform(library):
    assert set(known(library)) <= set(offered())
    every = [[specimen(name)] for name in offered()]
    made = export(module(*every, [specimen(name) for name in known(library)[:3]]), library)
    ast.parse(made.text)
    assert len(made.missing) == len(offered()) - len(known(library))


@pytest.mark.parametrize(
    ("library", "message"),
    [
        (
            "torchvision",
            "v2.RandomAffine(degrees=(-27, 27), interpolation=v2.InterpolationMode.BILINEAR, "
            "fill=None),  # rotate ±27.0°",
        ),
        ("albumentations", "A.Affine(rotate=(-27, 27), p=1.0),"),
        ("kornia", "K.RandomAffine(degrees=(-27, 27), p=1.0),"),
    ],
)
def test_numbers_are_those_that_were_learned(library, message):
    assert message in export(module([Rotate(90.0)], magnitude=0.3), library).text


@pytest.mark.parametrize(
    ("library", "draw"),
    [
        ("kornia", ["Choice(transforms)"] * 2),
        ("torchvision", ["v2.RandomChoice(transforms)"] * 2),
        ("albumentations", ["A.OneOf(transforms, p=1.0)"] * 2),
    ],
)
def test_equal_layers_are_one_list(library, draw):
    offered = (Rotate(90.0), HorizontalFlip(), IDENTITY)
    text = export(drawn(*offered, times=2), library).text
    ast.parse(text)
    assert [text.count(part) for part in ("rotate ±", "horizontal_flip with", "no transform")] == [
        1, 1, 1
    ]  # fmt: skip
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    assert [line for line in lines if line in draw] == draw
    assert "p=0.3" in text  # a Bernoulli transform that is drawn keeps its probability


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_no_line_has_a_probability_of_zero(library):
    layer = AugmentationLayer(
        HorizontalFlip(), Invert(), Rotate(), magnitude=(0.0, 1.0, 0.0), mixing="drawn"
    )
    text = export(AugmentationModule(layer, AugmentationLayer(Rotate(), magnitude=0.0)), library)
    assert "Flip" not in text.text
    assert "Affine" not in text.text
    assert text.text.count("# no transform") == 2


@pytest.mark.parametrize("times", [1, 2, 3])
def test_draws_are_independent_for_samples_and_layers(times):
    pytest.importorskip("kornia")
    augment = executed(export(drawn(*FLIPS, magnitude=1.0, times=times), "kornia"))
    torch.manual_seed(0)
    x = inputs(COLOR_IMAGES, 1)[..., :4, :5].expand(3000, -1, -1, -1)
    view = augment(x)
    kinds = {"x": x, "flip": x.flip(-1), "invert": 1 - x, "both": 1 - x.flip(-1)}
    found = {
        name: ((view - kind).abs().flatten(1).amax(1) < 1e-5).float().mean().item()
        for name, kind in kinds.items()
    }
    assert found == pytest.approx(_expected(times), abs=0.04)


def _expected(times):
    """Return how often two involutions that commute give each of their four products."""
    counts = Counter({(0, 0): 1.0})
    for _ in range(times):
        after = Counter()
        for (flips, inversions), part in counts.items():
            for more in ((1, 0), (0, 1), (0, 0)):
                key = ((flips + more[0]) % 2, (inversions + more[1]) % 2)
                after[key] += part / 3
        counts = after
    names = {"x": (0, 0), "flip": (1, 0), "invert": (0, 1), "both": (1, 1)}
    return {name: counts[key] for name, key in names.items()}


@pytest.mark.parametrize("name", [*LAYERS, *PADDED])
def test_whole_augmentations_give_the_same_views_in_kornia(name):
    pytest.importorskip("kornia")
    ours, x = (LAYERS | PADDED)[name], smooth()
    alike(ours, torch_views(export(ours, "kornia"), x), x)


def test_draws_of_signals_give_the_same_views_in_braindecode():
    pytest.importorskip("braindecode")
    offered = [specimen(name) for name in ("time_reverse", "gaussian_noise", "channel_dropout")]
    ours, x = drawn(*offered, IDENTITY, times=2), inputs(SIGNALS, 6)
    made = export(ours, "braindecode")
    assert "braindecode has no such draw" in made.text
    alike(ours, torch_views(made, x), x)


def test_probabilities_are_no_weights_in_albumentations():
    text = export(drawn(Rotate(), HorizontalFlip(), Invert(1.0), IDENTITY), "albumentations").text
    assert "A.Sequential([A.HorizontalFlip(p=0.3)], p=1.0)," in text
    assert "    A.NoOp(p=1.0),  # no transform" in text
    certain = export(drawn(Invert(1.0), IDENTITY, magnitude=1.0), "albumentations").text
    assert "    A.InvertImg(p=1),  # invert" in certain


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")  # of MNE, in braindecode
@pytest.mark.parametrize(
    ("library", "name"), [(lib, name) for lib in ("kornia", "braindecode") for name in known(lib)]
)
def test_samples_of_a_batch_get_params_of_their_own(library, name):
    pytest.importorskip(library)
    (sample,) = smooth(1) if library == "kornia" else signals(name, 1)
    x = torch.stack([sample] * 40)
    torch.manual_seed(0)
    view = executed(export(alone(name), library))(x)
    assert (view - view[:1]).abs().amax() > 1e-4


def test_snippets_for_signals_go_into_a_loader_of_braindecode():
    braindecode = pytest.importorskip("braindecode.augmentation")
    augment = executed(export(drawn(SignFlip(1.0), TimeReverse(), IDENTITY), "braindecode"))
    x, y = inputs(SIGNALS, 8), torch.arange(8)
    samples = torch.utils.data.TensorDataset(x, y)
    ((view, labels),) = braindecode.AugmentedDataLoader(samples, augment, batch_size=8)
    assert view.shape == x.shape
    assert labels.equal(y)


def test_kornia_itself_draws_once_for_a_batch():
    """The reason why snippets have a class for draws; its comment says so."""
    kornia = pytest.importorskip("kornia.augmentation")
    members = (kornia.RandomHorizontalFlip(p=1.0), kornia.RandomInvert(p=1.0))
    augment = kornia.ImageSequential(*members, random_apply=1)
    x = smooth(1).repeat(20, 1, 1, 1)
    for seed in range(4):
        torch.manual_seed(seed)
        view = augment(x)
        assert view.equal(view[:1].expand_as(view))


def test_layers_with_weights_of_their_own_are_drawn_by_them():
    pytest.importorskip("kornia")
    layer = AugmentationLayer(Invert(1.0), HorizontalFlip(1.0), magnitude=1.0)
    with torch.no_grad():
        layer.logits.copy_(torch.tensor([0.9, 0.1]).log())
    augment = AugmentationModule(layer, AugmentationLayer(Rotate(1e-6), magnitude=1.0)).eval()
    torch.manual_seed(0)
    x = inputs(COLOR_IMAGES, 400)
    view = executed(export(augment, "kornia"))(x)
    inverted = (view - (1 - x)).abs().flatten(1).amax(1) < 1e-3
    assert 0.85 < inverted.float().mean() < 0.95
    for library, weights in (
        ("torchvision", "v2.RandomChoice(transforms, p=[0.9, 0.1])"),
        ("albumentations", "A.Sequential([A.InvertImg(p=1)], p=0.9)"),
    ):
        text = export(augment, library).text
        ast.parse(text)
        assert weights in text


def test_transforms_that_a_library_does_not_have_are_listed():
    made = export(module([Rotate(90.0)], [SamplePairing()]), "kornia")
    assert made.missing == ("sample_pairing up to 0.240 of another sample",)
    assert "kornia has no transform for sample_pairing" in made.text
    assert executed(made) is not None
    among = export(drawn(Rotate(90.0), SamplePairing()), "kornia").text
    assert "torch.nn.Identity(),  # in place of sample_pairing" in among
    nothing = export(module([SamplePairing()]), "kornia")
    assert "none of the learned transforms exists in kornia" in nothing.text
    x = inputs(COLOR_IMAGES)
    assert executed(nothing)(x).equal(x)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_augmentation_is_code_that_does_nothing(library):
    made = export(identity, library)
    assert made.missing == ()
    assert "# no augmentation" in made.text
    ast.parse(made.text)
    if library in ("kornia", "braindecode"):
        pytest.importorskip(library)
        x = inputs(SIGNALS)
        assert executed(made)(x).equal(x)


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_padding_and_interpolation_are_exported_where_they_exist(library):
    offered = (Rotate(90.0, padding="border", interpolation="bicubic"), IDENTITY)
    text = export(drawn(*offered), library).text
    ast.parse(text)
    parts = {
        "kornia": ['resample="bicubic"', 'padding_mode="border"'],
        "torchvision": ["has no padding 'border': 'zeros' is used", "has no interpolation"],
        "albumentations": ["import cv2\n", "cv2.INTER_CUBIC", "cv2.BORDER_REPLICATE"],
    }
    for part in parts[library]:
        assert part in text
    if library == "kornia":
        pytest.importorskip("kornia")
        executed(export(drawn(*offered), library))(smooth())


@pytest.mark.parametrize(
    ("kind", "shape", "to", "instead"),
    [
        ("signals", (2, 64), "kornia", "braindecode or policy"),
        ("signals", (2, 64), "torchvision", "braindecode or policy"),
        ("signals", (2, 64), "albumentations", "braindecode or policy"),
        ("vectors", (3,), "kornia", "policy"),
        ("vectors", (3,), "braindecode", "policy"),
        ("images", (1, 8, 8), "braindecode", "kornia, torchvision, albumentations or policy"),
    ],
)
def test_libraries_for_other_samples_are_refused_by_name(kind, shape, to, instead):
    spec = InputSpec(kind=kind, shape=shape)
    takes = LIBRARIES[to].kind
    message = f"{to} is for {takes}, and this model is for {kind} of shape {shape}: export it to "
    for augment in (identity, drawn(SignFlip(), IDENTITY)):
        with pytest.raises(ValueError, match=takes) as refused:
            export(augment, to, spec)
        assert str(refused.value) == message + instead
        assert export(augment, "policy", spec).text


def test_transforms_tell_for_which_samples_they_are():
    with pytest.raises(ValueError, match="kornia is for images, and this model is for signals:"):
        export(module([TimeReverse()]), "kornia")
    with pytest.raises(ValueError, match="braindecode is for signals, and this model is for im"):
        export(drawn(Rotate(), specimen("hue")), "braindecode")
    assert export(module([SignFlip()]), "braindecode").missing == ()


def test_numbers_of_scaled_signals_are_explained():
    spec = InputSpec(kind="signals", shape=(6, 256), center=(1.0,), scale=(2e-5,))
    text = export(module([specimen("gaussian_noise")]), "braindecode", spec).text
    assert "center (1), scale (2e-05)" in text


def test_a_policy_is_data():
    offered = (Rotate(90.0), *build_transforms("shear_x"))
    made = json.loads(export(drawn(*offered, magnitude=0.6, times=2), "policy").text)
    (layer,) = made["layers"]
    assert layer["times"] == 2
    first, second = layer["steps"]
    assert (first["name"], first["limit"], first["weight"]) == ("rotate", 90.0, 0.5)
    assert first["strength"] == pytest.approx(54)
    assert build_transforms([{k: second[k] for k in ("name", "limit")}]) == build_transforms(
        "shear_x"
    )
    (layer,) = json.loads(export(drawn(*FLIPS), "policy").text)["layers"]
    assert layer["steps"][2]["name"] == "identity"
    assert layer["steps"][2]["description"] == "no transform"


def test_only_equal_neighbors_are_joined():
    one, other = ((Rotate(90.0), IDENTITY), (Rotate(30.0), IDENTITY))
    found = layers(module(one, one, other, one))
    assert [layer.times for layer in found] == [2, 1, 1]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_second_draw_is_said_to_be_independent(library):
    image = library != "braindecode"
    some = (Rotate(), HorizontalFlip()) if image else (TimeReverse(), SignFlip())
    said = "a transform can be drawn twice"
    assert said in export(drawn(*some, times=2), library).text
    assert said not in export(drawn(*some), library).text
    assert said not in export(module(some[:1], some[:1]), library).text


@pytest.mark.parametrize(
    ("library", "transform", "difference"),
    [
        ("torchvision", Posterize(), "drops whole bits, so their number is drawn"),
        ("torchvision", Sharpness(), "takes one factor, so one of 9 is drawn"),
        ("torchvision", Solarize(), "takes one threshold, so one of 9 is drawn"),
        ("torchvision", Cutout(), "erases a square of the same area with hard edges"),
        ("torchvision", TranslateX(), "moves by whole pixels"),
        ("albumentations", TranslateX(), "moves by whole pixels, rounded towards 0"),
        ("albumentations", Sharpness(), "sharpens only, in half of the cases"),
        ("kornia", Posterize(), "drops whole bits"),
        ("kornia", Autocontrast(), "makes channels of one value black"),
        ("braindecode", specimen("bandstop"), "damps up to 1 Hz beside the band"),
        ("braindecode", specimen("sensor_rotation_x"), "smooths the data a little even at 0°"),
    ],
)
def test_differences_are_comments_of_the_code(library, transform, difference):
    text = export(module([transform]), library).text
    (line,) = (line for line in text.splitlines() if difference in line)
    assert line.startswith(f"# {transform.name}: {library} ")


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_strengths_that_a_library_does_not_have_are_said(library):
    strong = [Brightness(1.8)], [TranslateX(1.6)], [Rotate(400.0)], [GaussianNoise(3.0)]
    lines = export(module(*strong, magnitude=1.0), library).text.splitlines()
    said = {
        "brightness": ("has no factors below 0", IMAGE_LIBRARIES),
        "translate_x": ("moves by one side at most", ("kornia", "torchvision")),
        "rotate": ("turns by 360° at most", ("kornia",)),
        "gaussian_noise": ("has noise of a std of up to 1", ("albumentations",)),
    }
    for name, (text, libraries) in said.items():
        assert (f"# {name}: {library} {text}." in lines) == (library in libraries)
    weak = export(module(*strong, magnitude=0.3), library).text
    assert not any(text in weak for text, _ in said.values())
    if library == "kornia":
        pytest.importorskip("kornia")
        executed(export(module(*strong, magnitude=1.0), library))(smooth())


@pytest.mark.parametrize("strength", [0.3, 1.0, 2.4, 7.6, 8.0])
def test_whole_bits_have_the_mean_of_the_range(strength):
    dropped = whole_bits(strength)
    assert 0 < sum(dropped.values()) < 1
    assert sum(bits * part for bits, part in dropped.items()) == pytest.approx(strength / 2)
    assert max(whole_bits(strength, most=7)) <= 7


def test_unknown_libraries_are_refused():
    with pytest.raises(ValueError, match="did you mean 'kornia'"):
        export(identity, "cornia")
