"""Any function with one strength becomes a transform, or is refused with the reason."""

import kornia
import numpy as np
import pytest
import torch

from augnet import audit, learn, transform_from
from augnet.learn import Invariance
from augnet.learn.strengths import apply_at_strength
from augnet.testing import check_transform
from augnet.transforms import TRANSFORMS, build_transforms, from_audio, from_operation
from augnet.transforms.function import seeded


def test_a_function_is_called_at_the_strength_of_each_sample():
    shift = transform_from(lambda x, s: x + s, limit=2.0, unit="levels", name="shift", signed=True)
    assert (shift.name, shift.unit, shift.prefix, shift.limit) == ("shift", "levels", "±", 2.0)
    x = torch.randn(4, 3)
    fractions = torch.tensor([0.0, 0.5, 0.5, 1.0])
    signs = torch.tensor([1.0, 1.0, -1.0, 1.0])
    view = apply_at_strength(shift, x, fractions, torch.Generator(), signs)
    assert view.allclose(x + torch.tensor([0.0, 1.0, -1.0, 2.0])[:, None])
    assert view[0].equal(x[0])
    check_transform(shift)


def test_a_batched_function_gets_all_strengths():
    seen = []

    def scale(x, strengths):
        """Make louder."""
        seen.append(strengths.shape)
        return x * (1 + strengths.reshape(-1, *(1,) * (x.dim() - 1)))

    louder = transform_from(scale, limit=1.0, batched=True)
    assert (louder.name, louder.__doc__) == ("scale", "Make louder.")
    seen.clear()
    louder(torch.randn(5, 2), 0.7)
    assert seen == [(5,)]


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda x, s: x + 1, {}, "at strength 0 it changes values by up to 1"),
        (lambda x, s: x[:, :2], {}, "it makes shape"),
        (lambda x, s: x / s, {}, "at strength 0 it changes values by up to inf"),
        (lambda x, s: x * (1 / s), {}, "at strength 0 it raises ZeroDivisionError"),
        (lambda x, s: x + s * x.mean(0), {}, "depends on the others of the batch"),
        (lambda x, s: x + s * torch.randn_like(x), {}, "it draws random numbers; say random=True"),
        (lambda x, s: x.add_(s), {"batched": False}, None),  # it gets a copy
        (lambda x, s: x if s < 0.5 else x[..., :-1], {}, "keeps the shape"),
        (lambda x, s: x, {}, "identity_of_one"),
        (lambda x, s: x, {"domain": "picture"}, "unknown domain 'picture'"),
        (lambda x, s: x, {"signed": True, "random": True}, "chooses its own sign"),
    ],
)
def test_what_is_no_transform_is_refused_with_the_law(function, options, message):
    if message is None:
        transform_from(function, limit=1.0, **options)
        return
    with pytest.raises(ValueError, match=message) as caught:
        transform_from(function, limit=1.0, **options)
    assert "\n" not in str(caught.value)


def test_a_random_function_keeps_its_random_numbers_at_all_strengths():
    noise = transform_from(
        lambda x, s: x + s * torch.randn_like(x) * np.random.rand(),  # noqa: NPY002
        limit=1.0,
        random=True,
    )
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    x = torch.zeros(3, 4)
    params = noise.sample_params(x.shape, x, torch.Generator().manual_seed(1))
    half, whole = (noise.apply(x, m, params) for m in (0.5, 1.0))
    assert whole.allclose(2 * half)
    assert not whole[0].equal(whole[1])
    assert torch.get_rng_state().equal(before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    check_transform(noise)


def test_accelerators_in_use_are_seeded_and_restored(monkeypatch):
    gpus = [torch.Generator().manual_seed(n) for n in (1, 2)]
    for module, name in (
        (torch.cuda, "manual_seed_all"),
        (torch.xpu, "manual_seed_all"),
        (torch.mps, "manual_seed"),
    ):  # these would also seed a device that is initialized later
        monkeypatch.setattr(module, name, lambda seed: pytest.fail("a device stays seeded"))
    monkeypatch.setattr(torch.cuda, "default_generators", gpus)
    before = [gpu.get_state() for gpu in gpus]
    with seeded(5):
        assert [gpu.initial_seed() for gpu in gpus] == [1, 2]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    expected, drawn = torch.rand(3, generator=torch.Generator().manual_seed(5)), []

    def fail():
        with seeded(5):
            drawn.extend([torch.rand(3), *(torch.rand(3, generator=gpu) for gpu in gpus)])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert all(each.equal(expected) for each in drawn)
    assert len(drawn) == 3
    for gpu, state in zip(gpus, before, strict=True):
        assert gpu.get_state().equal(state)


@pytest.mark.parametrize("samples", [1, 2, 7])
def test_an_example_may_have_few_samples(samples):
    sizes = []

    def fade(x, s):
        sizes.append(len(x))
        return x * (1 - s / x.abs().max().clamp(min=1e9))

    example = torch.rand(samples, 3)
    transform_from(lambda x, s: x * (1 - s), limit=0.5, example=example)
    with pytest.raises(ValueError, match="identity_of_one"):
        transform_from(fade, limit=0.5, example=example)
    assert min(sizes) == 1
    with pytest.raises(ValueError, match="depends on the others of the batch"):
        transform_from(lambda x, s: x + s * x.sum(0), limit=0.5, example=example)
    with pytest.raises(ValueError, match="fade takes a batch of at least one sample"):
        transform_from(fade, limit=0.5, example=example[:0])


def test_operations_of_kornia():
    turn = from_operation(
        lambda s: kornia.augmentation.RandomRotation((s, s), p=1.0),
        limit=30.0,
        unit="degrees",
        signed=True,
    )
    assert turn.name == "random_rotation"
    x = torch.rand(8, 3, 16, 16)
    view = turn.apply(x, 1.0, torch.ones(8))
    assert (view - kornia.geometry.rotate(x, torch.full((8,), 30.0))).abs().max() < 0.02
    bright = transform_from(kornia.enhance.adjust_brightness, limit=0.5, domain="images")
    assert bright.name == "adjust_brightness"
    assert bright.apply(x, 0.5, torch.ones(8)).allclose((x + 0.25).clamp(0, 1))


def test_operations_of_torchvision_are_built_for_each_strength():
    """As in torchvision v2, an operation is an object that is called with a batch."""

    class RandomRotation:
        def __init__(self, degrees):
            self.degrees = degrees

        def __call__(self, x):
            low, high = self.degrees
            turned = torch.rand(()).item() * (high - low) + low
            return kornia.geometry.rotate(x, torch.full((len(x),), turned).to(x))

    turn = from_operation(
        lambda s: RandomRotation((-s, s)), limit=45.0, unit="degrees", random=True
    )
    assert turn.name == "random_rotation"
    views = turn(torch.rand(1, 3, 12, 12).expand(4, -1, -1, -1), 1.0)
    assert not views[0].allclose(views[1])


def test_operations_of_audio_take_arrays():
    class Gain:
        def __init__(self, min_gain_db, max_gain_db, p):
            self.range = min_gain_db, max_gain_db

        def __call__(self, samples, sample_rate):
            assert (samples.dtype, samples.ndim, sample_rate) == (np.float32, 2, 8000)
            return samples * np.float32(10 ** (np.random.uniform(*self.range) / 20))  # noqa: NPY002

    gain = from_audio(
        lambda s: Gain(s, s, p=1.0), limit=20.0, unit="dB", sample_rate=8000, signed=True,
    )  # fmt: skip
    x = torch.randn(2, 3, 64)
    view = apply_at_strength(gain, x, torch.ones(2), torch.Generator(), torch.tensor([1.0, -1.0]))
    assert view[0].allclose(10 * x[0])
    assert view[1].allclose(x[1] / 10)


def test_learn_and_audit_take_functions():
    y = torch.arange(120) % 2
    x = 2.0 * y[:, None] - 1 + 0.1 * torch.randn(120, 3)
    shift = transform_from(lambda x, s: x + s, limit=2.0, signed=True, name="shift")
    row = learn(x, y, [shift], budget=30)["shift"]
    assert row.status in ("bounded", "not_invariant", "unclear")
    labels = Invariance(shift, "bounded", 0.8, (0.7, 0.9))
    found = audit(lambda x: torch.stack((-x[:, 0], x[:, 0] + 1.2), 1), x, y, learned=[labels])
    assert found["shift"].finding == "fragile"
    assert found.values["transforms"][0]["labels"]["transform"] is None


def test_a_registered_function_can_be_named_in_files():
    made = transform_from(lambda x, s: x * (1 - s), limit=0.5, name="fade-out", register=True)
    try:
        assert made.name == "fade_out"
        assert build_transforms([{"name": "fade_out", "limit": 0.5}]) == [made]
    finally:
        TRANSFORMS.pop("fade_out")
