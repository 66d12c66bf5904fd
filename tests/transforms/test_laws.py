"""What the base class promises holds for every transform in the transforms.

A transform that is exempt from a law says so, with the reason, in its `exemptions`.
"""

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, asdict, replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import inputs, seeded, specimen
from torch.utils._python_dispatch import TorchDispatchMode

from augnet.transforms import TRANSFORMS, Bernoulli, Ranged, Signed, build_transforms
from augnet.transforms.base import join, take

EXEMPTIBLE = {"exact_gradient"}
every_transform = pytest.mark.parametrize("name", TRANSFORMS)
every_graded_transform = pytest.mark.parametrize(
    "name", [name for name, cls in TRANSFORMS.items() if issubclass(cls, Ranged)]
)


def draw(name: str, batch: int = 8, dtype: torch.dtype = torch.float32):
    """Give a transform, an input, and dice for it."""
    transform = specimen(name)
    x = inputs(transform.domain, batch, dtype)
    return transform, x, transform.sample_params(x.shape, x, seeded(1))


@every_transform
def test_exemptions_name_laws_and_give_reasons(name):
    exemptions = TRANSFORMS[name].exemptions
    assert set(exemptions) <= EXEMPTIBLE
    assert all(len(reason) > 20 for reason in exemptions.values())


@every_transform
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1.0, 3.0], ids=["in range", "out of range"])
def test_magnitude_zero_is_the_identity_exactly(name, dtype, scale):
    transform, x, noise = draw(name, dtype=dtype)
    x = scale * x
    for zero in (0.0, torch.tensor(0.0), torch.zeros(len(x))):
        assert torch.equal(transform.apply(x, zero, noise), x)


@every_transform
def test_a_sample_at_magnitude_zero_is_left_alone_among_others(name):
    transform, x, noise = draw(name)
    magnitude = torch.ones(len(x))
    magnitude[3] = 0
    view = transform.apply(x, magnitude, noise)
    assert torch.equal(view[3], x[3])
    assert not torch.equal(view, x)


@every_transform
def test_same_seed_same_view_and_another_seed_another_view(name):
    transform, x, _ = draw(name, batch=32)
    first, again, other = (transform(x, 0.7, seeded(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@every_transform
def test_randomness_comes_from_the_generator_alone(name):
    transform, x, _ = draw(name)
    before = torch.get_rng_state()
    transform(x, 0.7, seeded(0))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(5)
    first = transform(x, 0.7)
    torch.manual_seed(5)
    assert torch.equal(first, transform(x, 0.7))


@every_transform
def test_dice_thrown_once_can_be_replayed(name):
    transform, x, noise = draw(name)
    kept = copy.deepcopy(noise)
    first = transform.apply(x, 0.4, noise)
    transform.apply(x, 0.9, noise)
    assert torch.equal(first, transform.apply(x, 0.4, kept))


@every_transform
def test_dice_are_rolled_before_the_data_is_there_and_for_copies_side_by_side(name):
    transform, x, noise = draw(name)
    params = transform.sample_params(x.shape, torch.zeros(1), seeded(1))
    view = transform.apply(x, 0.7, params)
    assert torch.equal(view, transform.apply(x, 0.7, noise))
    twice = torch.cat((x, x.flip(0)))
    views = transform.apply(twice, 0.7, join([params, params])).split(len(x))
    torch.testing.assert_close(views[0], view)
    torch.testing.assert_close(views[1], transform.apply(x.flip(0), 0.7, params))
    some = torch.tensor([1, 6])  # of a part of the batch, too
    part = transform.apply(x[some], 0.7, take(params, some))
    assert part.isfinite().all()


@every_transform
def test_permuting_the_batch_permutes_the_result(name):
    transform, x, noise = draw(name, dtype=torch.float64)
    order = torch.tensor([3, 1, 7, 0, 2, 6, 5, 4])
    if transform.batch_coupled:  # offsets to partners survive a cyclic shift
        order = torch.arange(8).roll(3)
    magnitude = torch.linspace(0.1, 1, len(x), dtype=x.dtype)
    straight = transform.apply(x, magnitude, noise)
    permuted = transform.apply(x[order], magnitude[order], take(noise, order))
    torch.testing.assert_close(permuted, straight[order], rtol=1e-12, atol=1e-12)


@every_transform
def test_the_input_is_left_alone(name):
    transform, x, noise = draw(name)
    before, dice = x.clone(), copy.deepcopy(noise)
    transform.apply(x, 0.8, noise)
    transform(x, 0.8)
    assert torch.equal(x, before)
    everyone = torch.arange(len(x))
    torch.testing.assert_close(take(noise, everyone), take(dice, everyone), rtol=0, atol=0)


@every_transform
@settings(max_examples=15, deadline=None)
@given(
    batch=st.integers(1, 5),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    height=st.integers(3, 17),
    width=st.integers(3, 17),
    duration=st.integers(16, 90),
    magnitude=st.floats(0, 1, width=32),
)
def test_shape_and_type_survive(name, batch, dtype, height, width, duration, magnitude):
    transform = gentle(specimen(name))
    whole = inputs(transform.domain, batch, dtype)
    x = whole[..., :height, :width] if whole.dim() == 4 else whole[..., :duration]
    for strength in (magnitude, torch.full((batch,), magnitude)):
        view = transform(x, strength, seeded(0))
        assert view.shape == x.shape
        assert view.dtype == dtype
        assert view.isfinite().all()


@every_transform
def test_a_batch_of_one_is_the_first_of_many(name):
    transform, x, noise = draw(name, dtype=torch.float64)
    first = torch.tensor([0])
    alone = transform.apply(x[:1], 0.8, take(noise, first))
    if transform.batch_coupled:  # among copies of itself
        x, noise = x[[0] * 8], take(noise, torch.zeros(8, dtype=torch.long))
    among = transform.apply(x, 0.8, noise)[:1]
    torch.testing.assert_close(alone, among, rtol=1e-12, atol=1e-12)
    assert transform(x[:1], 0.8).shape == x[:1].shape


@every_transform
def test_one_magnitude_means_the_same_for_each_sample(name):
    transform, x, noise = draw(name)
    shared = transform.apply(x, 0.6, noise)
    assert torch.equal(shared, transform.apply(x, torch.tensor(0.6), noise))
    assert torch.equal(shared, transform.apply(x, torch.full((len(x),), 0.6), noise))


@every_transform
def test_any_device_will_do_and_nothing_is_read_back_from_it(name):
    # The meta device has no values: reading one, or mixing in a tensor of the host, raises.
    transform, x, _ = draw(name)
    x = x.to("meta")
    view = transform.apply(
        x, torch.full((), 0.5, device="meta"), transform.sample_params(x.shape, x)
    )
    assert view.device.type == "meta"
    assert view.shape == x.shape


@every_transform
def test_autocast_leaves_transforms_alone(name):
    transform, x, _ = draw(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        view = transform(x, 0.7, seeded(0))
    assert torch.equal(view, transform(x, 0.7, seeded(0)))


@every_transform
def test_the_batch_costs_no_python_loop(name):
    class Counter(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Counter.calls += 1
            return func(*args, **(kwargs or {}))

    def cost(batch: int) -> int:
        transform, x, _ = draw(name, batch)
        transform(x, 0.5)
        Counter.calls = 0
        with Counter():
            transform.apply(x, 0.5, transform.sample_params(x.shape, x))
        return Counter.calls

    assert cost(2) == cost(13)


def gentle(transform):
    """Lower the limit of transforms that would leave the range of pixels, or turn all the way round."""
    limits = {"time_mask": 16.0, "frequency_shift": 0.2}
    enhancements = dict.fromkeys(("brightness", "contrast", "saturation", "sharpness"), 0.2)
    return replace(transform, limit=(limits | enhancements).get(transform.name, transform.limit))


@every_transform
def test_the_gradient_is_exact(name):
    transform = gentle(specimen(name))
    if reason := transform.exemptions.get("exact_gradient"):
        pytest.skip(f"{reason}; see test_the_gradient_points_the_right_way")
    # Small inputs, and no kink of a clamp or of an interpolation nearby.
    x = inputs(transform.domain, 3, torch.float64)
    x = 0.2 + 0.6 * x[..., :7, :9] if x.dim() == 4 else x[..., :40]
    noise = transform.sample_params(x.shape, x, seeded(2))
    magnitude = torch.tensor([0.31, 0.57, 0.83], dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda x, magnitude: transform.apply(x, magnitude, noise),
        (x.requires_grad_(), magnitude.requires_grad_()),
        eps=1e-7,
        atol=1e-5,
    )


@every_transform
def test_the_gradient_points_the_right_way(name):
    """In expectation over the dice, views go where they go on average as fast as it says."""
    transform = gentle(specimen(name))
    few, throws = inputs(transform.domain, 16, torch.float64), 100
    x = torch.cat([few] * throws)
    noise = transform.sample_params(x.shape, x, seeded(2))
    far = (transform.apply(x, 0.8, noise) - x).unflatten(0, (throws, 16)).mean(0)

    def progress(magnitude):
        moved = (transform.apply(x, magnitude, noise) - x).unflatten(0, (throws, 16))
        return (moved * far).mean()

    magnitude = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(progress(magnitude), magnitude)
    difference = (progress(0.5) - progress(0.3)) / 0.2
    assert difference > 0
    assert 0.85 < gradient / difference < 1.15


@every_transform
def test_the_gradient_reaches_the_input(name):
    transform, x, noise = draw(name)
    x.requires_grad_()
    view = transform.apply(x, 0.5, noise)
    (gradient,) = torch.autograd.grad(view, x, torch.ones_like(view))
    assert gradient.isfinite().all()
    assert gradient.flatten(1).norm(dim=1).gt(0).sum() >= len(x) / 2


@every_transform
def test_the_jacobian_of_the_identity_is_the_identity(name):
    transform, x, noise = draw(name)
    if x.dim() == 4:
        x[:, :, :4], x[:, :, 4:8] = 0, 1  # black and white, where ranges end
    x.requires_grad_()
    cotangent = torch.rand_like(x)
    view = transform.apply(x, 0.0, noise)
    (gradient,) = torch.autograd.grad((view * cotangent).sum(), x)
    torch.testing.assert_close(gradient, cotangent, atol=1e-4, rtol=1e-4)


@every_transform
def test_the_type_of_the_input_is_kept_whatever_the_default(name):
    transform, x, _ = draw(name)
    torch.set_default_dtype(torch.float64)
    try:
        assert transform(x, 0.5).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@every_transform
def test_the_gradient_is_finite_at_both_ends(name):
    transform, x, noise = draw(name)
    x.requires_grad_()
    for end in (0.0, 1.0):
        magnitude = torch.tensor(end, requires_grad=True)
        view = transform.apply(x, magnitude, noise)
        for gradient in torch.autograd.grad(view.square().sum(), (x, magnitude)):
            assert gradient.isfinite().all()


@every_transform
def test_strength_grows_with_magnitude(name):
    transform = specimen(name)
    x = inputs(transform.domain, 200)
    noise = transform.sample_params(x.shape, x, seeded(0))
    moved = [
        (transform.apply(x, magnitude, noise) - x).square().mean().item()
        for magnitude in (0.0, 0.1, 0.3, 1.0)
    ]
    assert moved[0] == 0
    assert moved[0] < moved[1] < moved[2] < moved[3]


def smooth(x):
    """Make something so smooth that a small move makes a small change, and dark at its borders."""
    if x.dim() == 3:
        return F.interpolate(x[..., :16], x.shape[-1:], mode="linear")
    large = F.interpolate(x[..., :4, :4], (48, 48), mode="bicubic").clamp(0, 1)
    return large * torch.hann_window(48) * torch.hann_window(48)[:, None]


@every_graded_transform
def test_the_whole_range_is_drawn_and_both_signs_alike(name):
    transform, x, noise = draw(name, batch=4000)
    low = -1 if isinstance(transform, Signed) else 0
    assert noise.min() >= low
    assert noise.min() < low + 0.01
    assert 0.99 < noise.max() <= 1
    expected = torch.linspace(low, 1, 5)[1:-1]
    torch.testing.assert_close(
        noise.quantile(torch.tensor([0.25, 0.5, 0.75])), expected, atol=0.05, rtol=0
    )
    if isinstance(transform, Signed):
        x, little = smooth(x[:8]), 0.004
        up, down = (transform.apply(x, little, s * torch.ones(8)) - x for s in (1, -1))
        # Of a little, one sign undoes the other.
        assert ((up * down).sum() / up.norm() / down.norm()).item() < -0.8
        assert 0.8 < (up.norm() / down.norm()).item() < 1.25


@every_transform
def test_transforms_are_values(name):
    transform = specimen(name)
    assert transform == specimen(name)
    assert hash(transform) == hash(specimen(name))
    assert transform != replace(transform, limit=0.9 * transform.limit)
    assert pickle.loads(pickle.dumps(transform)) == transform
    assert build_transforms({"name": name, **asdict(transform)}) == [transform]
    assert type(transform).__name__ in repr(transform)
    with pytest.raises(FrozenInstanceError):
        transform.limit = 2.0


@every_transform
def test_transforms_know_their_strength_in_physical_units(name):
    transform = specimen(name)
    assert transform.strength(1.0) == pytest.approx(transform.limit)
    assert transform.unit
    assert any(character.isdigit() for character in transform.describe(0.5))
    if isinstance(transform, Bernoulli):
        assert transform.unit == "probability"


@every_transform
def test_bad_input_is_refused_and_nothing_changes(name):
    transform, x, _ = draw(name)
    generator = seeded(0)
    state = generator.get_state()
    nan = x.clone()
    nan[0].flatten()[3] = math.nan
    for bad, magnitude, error, message in [
        (x[:0], 0.5, ValueError, "at least one sample"),
        (x[0, 0, 0], 0.5, ValueError, "shape"),
        (nan, 0.5, ValueError, "NaN"),
        (x.int(), 0.5, TypeError, "float32 or float64"),
        (x.half(), 0.5, TypeError, "float32 or float64"),
        (x.numpy(), 0.5, TypeError, "takes a tensor"),
        (x, 1.5, ValueError, r"magnitude in \[0, 1\]"),
        (x, -0.1, ValueError, r"magnitude in \[0, 1\]"),
        (x, math.nan, ValueError, r"magnitude in \[0, 1\]"),
        (x, torch.tensor(1.01), ValueError, r"magnitude in \[0, 1\]"),
        (x, torch.full((3,), 0.5), ValueError, "one per sample"),
        (x, torch.tensor(0.5, device="meta"), ValueError, "is on meta"),
    ]:
        with pytest.raises(error, match=message):
            transform(bad, magnitude, generator)
    assert torch.equal(generator.get_state(), state)
    for limit in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="limit"):
            replace(transform, limit=limit)
