"""Laws about the values of transforms."""

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, is_dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from augnet.testing.base import LAWS, expect, law, many, params_of, refused, seeded, tensors
from augnet.transforms import Ranged, Signed, Transform
from augnet.transforms.base import join, take


@law
def exemptions(transform: Transform, x: Tensor) -> None:
    """Check that exemptions are laws, each with a reason."""
    unknown = set(transform.exemptions) - set(LAWS)
    expect(not unknown, f"no such laws: {', '.join(sorted(unknown))}")
    for name, reason in transform.exemptions.items():
        expect(len(reason) > 20, f"the reason for {name} is too short: {reason!r}")


@law
def identity(transform: Transform, x: Tensor) -> None:
    """Check that magnitude 0 is the identity, exactly."""
    params = params_of(transform, x)
    for zero in (0.0, x.new_tensor(0.0), x.new_zeros(len(x))):
        off = (transform.apply(x, zero, params) - x).abs().max().item()
        expect(torch.equal(transform.apply(x, zero, params), x), f"values change by up to {off:g}")


@law
def identity_of_one(transform: Transform, x: Tensor) -> None:
    """Check that a sample at magnitude 0 stays the same among others, which do not."""
    magnitude = x.new_ones(len(x))
    magnitude[3] = 0
    view = transform.apply(x, magnitude, params_of(transform, x))
    expect(torch.equal(view[3], x[3]), "the sample at magnitude 0 changes")
    expect(not torch.equal(view, x), "nothing changes at magnitude 1")


@law
def one_seed_one_view(transform: Transform, x: Tensor) -> None:
    """Check that the same seed gives the same view, and another seed another view."""
    x = many(x, 32)
    first, again, other = (transform(x, 0.7, seeded(x, seed)) for seed in (3, 3, 4))
    expect(torch.equal(first, again), "views of one seed differ")
    expect(not torch.equal(first, other), "views of two seeds are the same")


@law
def generator_only(transform: Transform, x: Tensor) -> None:
    """Check that random numbers come from the generator, or from torch's own if there is none."""
    before = torch.get_rng_state()
    transform(x, 0.7, seeded(x, 0))
    expect(torch.equal(torch.get_rng_state(), before), "the global random state changes")
    torch.manual_seed(5)
    first = transform(x, 0.7)
    torch.manual_seed(5)
    same = torch.equal(first, transform(x, 0.7))
    torch.set_rng_state(before)
    expect(same, "torch.manual_seed does not repeat the view")


@law
def pure_apply(transform: Transform, x: Tensor) -> None:
    """Check that params can be applied several times, at several magnitudes."""
    params = params_of(transform, x)
    kept = copy.deepcopy(params)
    first = transform.apply(x, 0.4, params)
    transform.apply(x, 0.9, params)
    for same in (params, kept):
        expect(torch.equal(first, transform.apply(x, 0.4, same)), "the second view differs")


@law
def params_of_shapes(transform: Transform, x: Tensor) -> None:
    """Check that params depend on shapes only, and can be sliced and joined by samples."""
    params = params_of(transform, x)
    blind = transform.sample_params(x.shape, x.new_zeros(1), seeded(x, 1))
    view = transform.apply(x, 0.7, params)
    same = torch.equal(view, transform.apply(x, 0.7, blind))
    expect(same, "params depend on the values of the batch")
    for part in tensors(params):
        expect(part.shape[:1] == x.shape[:1], f"params have the shape {tuple(part.shape)}")
    twice = torch.cat((x, x.flip(0)))
    views = transform.apply(twice, 0.7, join([params, params])).split(len(x))
    assert_close(views[0], view)
    assert_close(views[1], transform.apply(x.flip(0), 0.7, params))
    some = torch.tensor([1, 6], device=x.device)
    part = transform.apply(x[some], 0.7, take(params, some))
    expect(part.isfinite().all(), "a part of the batch has views that are not finite")


@law
def independent_samples(transform: Transform, x: Tensor) -> None:
    """Check that views follow samples if the batch is permuted (shifted, if batch-coupled)."""
    x = x.double()
    params = params_of(transform, x)
    order = torch.arange(len(x), device=x.device)
    order = order.roll(3) if transform.batch_coupled else order.flip(0).roll(3)
    magnitude = torch.linspace(0.1, 1, len(x), dtype=x.dtype, device=x.device)
    straight = transform.apply(x, magnitude, params)
    permuted = transform.apply(x[order], magnitude[order], take(params, order))
    assert_close(permuted, straight[order], rtol=1e-12, atol=1e-12)


@law
def input_unchanged(transform: Transform, x: Tensor) -> None:
    """Check that input and params are not changed in place."""
    params = params_of(transform, x)
    before, drawn = x.clone(), copy.deepcopy(params)
    transform.apply(x, 0.8, params)
    transform(x, 0.8)
    expect(torch.equal(x, before), "the input changes")
    for old, new in zip(tensors(drawn), tensors(params), strict=True):
        expect(torch.equal(old, new), "the params change")


@law
def shape_and_dtype(transform: Transform, x: Tensor) -> None:
    """Check that shape and dtype are kept, and views are finite."""
    for dtype in (torch.float32, torch.float64):
        x = x.to(dtype)
        for magnitude in (0.0, 0.3, 1.0, x.new_full((len(x),), 0.7)):
            view = transform(x, magnitude, seeded(x, 0))
            expect(view.shape == x.shape, f"the shape becomes {tuple(view.shape)}")
            expect(view.dtype == dtype, f"{dtype} becomes {view.dtype}")
            expect(view.isfinite().all(), "values are not finite")


@law
def batch_of_one(transform: Transform, x: Tensor) -> None:
    """Check that a sample has the same view alone as among others (copies, if batch-coupled)."""
    x = x.double()
    params = params_of(transform, x)
    first = torch.zeros(1, dtype=torch.long, device=x.device)
    alone = transform.apply(x[:1], 0.8, take(params, first))
    if transform.batch_coupled:
        x, params = x[first.expand(8)], take(params, first.expand(8))
    assert_close(alone, transform.apply(x, 0.8, params)[:1], rtol=1e-12, atol=1e-12)
    expect(transform(x[:1], 0.8).shape == x[:1].shape, "a batch of one changes its shape")


@law
def one_magnitude_for_all(transform: Transform, x: Tensor) -> None:
    """Check that a number, a tensor and one value per sample mean the same magnitude."""
    params = params_of(transform, x)
    shared = transform.apply(x, 0.6, params)
    for magnitude in (x.new_tensor(0.6), x.new_full((len(x),), 0.6)):
        expect(torch.equal(shared, transform.apply(x, magnitude, params)), "views differ")


@law
def any_device(transform: Transform, x: Tensor) -> None:
    """Check that nothing is read from the device, nor mixed in from another one."""
    x = x.to("meta")  # which has no values to read
    params = transform.sample_params(x.shape, x)
    view = transform.apply(x, torch.full((), 0.5, device="meta"), params)
    expect(view.device.type == "meta" and view.shape == x.shape, "another device or shape")


@law
def no_autocast(transform: Transform, x: Tensor) -> None:
    """Check that autocast does not change the view."""
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        view = transform(x, 0.7, seeded(x, 0))
    expect(torch.equal(view, transform(x, 0.7, seeded(x, 0))), "the view differs")


@law
def no_loop_over_samples(transform: Transform, x: Tensor) -> None:
    """Check that the number of tensor operations does not depend on the batch size."""

    class Counter(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            Counter.calls += 1
            return func(*args, **(kwargs or {}))

    costs = []
    for batch in (many(x, 2), many(x, 13)):
        transform(batch, 0.5)
        Counter.calls = 0
        with Counter():  # type: ignore[no-untyped-call]
            transform.apply(batch, 0.5, transform.sample_params(batch.shape, batch))
        costs.append(Counter.calls)
    expect(costs[0] == costs[1], f"2 samples take {costs[0]} operations, 13 take {costs[1]}")


@law
def default_dtype(transform: Transform, x: Tensor) -> None:
    """Check that torch's default dtype does not matter."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        dtype = transform(x.float(), 0.5).dtype
    finally:
        torch.set_default_dtype(before)
    expect(dtype == torch.float32, f"torch.float32 becomes {dtype}")


@law
def strength_grows(transform: Transform, x: Tensor) -> None:
    """Check that a larger magnitude changes samples more, on average."""
    kinds = [_changes(transform, x)]
    if x.dim() == 3:  # the smallest shift makes other noise of noise, so try smooth signals too
        kinds.append(_changes(transform, _smooth(x)))
    shown = "; ".join(", ".join(f"{value:.3g}" for value in kind) for kind in kinds)
    grows = any(0 == a < b < c < d for a, b, c, d in kinds)
    expect(grows, f"mean squared changes are {shown}")


def _changes(transform: Transform, x: Tensor) -> list[float]:
    """Return the mean squared changes at four magnitudes from 0 to 1."""
    x = many(x, 200)
    params = params_of(transform, x, 0)
    return [
        (transform.apply(x, magnitude, params) - x).square().mean().item()
        for magnitude in (0.0, 0.1, 0.3, 1.0)
    ]


@law
def whole_range(transform: Transform, x: Tensor) -> None:
    """Check that strengths cover their range evenly, and opposite signs have opposite effects."""
    if not isinstance(transform, Ranged):
        return
    params = transform.sample_params((4000, *x.shape[1:]), x, seeded(x, 1))
    low = transform.low
    expect(low <= params.min() < low + 0.01 and 0.99 < params.max() <= 1, "the ends are missing")
    quartiles = params.quantile(params.new_tensor([0.25, 0.5, 0.75]))
    assert_close(quartiles, torch.linspace(low, 1, 5)[1:-1].to(params), atol=0.05, rtol=0)
    if isinstance(transform, Signed):
        x = _smooth(x[:8])
        up, down = (transform.apply(x, 0.004, s * x.new_ones(8)) - x for s in (1, -1))
        cosine = ((up * down).sum() / up.norm() / down.norm()).item()
        ratio = (up.norm() / down.norm()).item()
        expect(cosine < -0.8, f"the cosine between the effects of ±0.004 is {cosine:.2f}")
        expect(0.8 < ratio < 1.25, f"the effects of ±0.004 differ in size by {ratio:.2f}")


@law
def values(transform: Transform, x: Tensor) -> None:
    """Check that transforms are frozen, and can be compared, hashed, copied and pickled."""
    expect(is_dataclass(transform), "no dataclass: add @dataclass(frozen=True)")
    twin = replace(transform)
    expect(twin == transform and hash(twin) == hash(transform), "equal transforms are not equal")
    low = transform.bounds[0]
    expect(transform != replace(transform, limit=low + 0.9 * (transform.limit - low)), "limits")
    if "<locals>" not in type(transform).__qualname__:  # which pickle cannot import
        expect(pickle.loads(pickle.dumps(transform)) == transform, "its pickle differs")
    expect(type(transform).__name__ in repr(transform), f"repr is {transform!r}")
    refused(lambda: setattr(transform, "limit", 2.0), FrozenInstanceError, "")


@law
def description(transform: Transform, x: Tensor) -> None:
    """Check that transforms have a unit, and describe their strength with a number."""
    strength = transform.strength(1.0)
    expect(math.isclose(strength, transform.limit), f"magnitude 1 is {strength}, not the limit")
    said = transform.describe(0.5)
    expect(transform.unit and any(map(str.isdigit, said)), f"described as {said!r}")


@law
def bad_input(transform: Transform, x: Tensor) -> None:
    """Check that bad input is refused with an explanation, before random numbers are drawn."""
    generator = seeded(x, 0)
    state, nan = generator.get_state(), x.clone()
    nan[0].view(-1)[0] = math.nan
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        (x[:0], 0.5, ValueError, "at least one sample"),
        (x.flatten()[0], 0.5, ValueError, "shape"),
        (nan, 0.5, ValueError, "NaN"),
        (x.int(), 0.5, TypeError, "float32 or float64"),
        (x.half(), 0.5, TypeError, "float32 or float64"),
        (x.cpu().numpy(), 0.5, TypeError, "takes a tensor"),
        *((x, wrong, ValueError, "magnitude in [0, 1]") for wrong in (1.5, -0.1, math.nan)),
        (x, x.new_tensor(1.01), ValueError, "magnitude in [0, 1]"),
        (x, x.new_full((3,), 0.5), ValueError, "one per sample"),
        (x, torch.tensor(0.5, device="meta"), ValueError, "is on meta"),
    ]
    for bad, magnitude, error, message in cases:
        refused(lambda b=bad, m=magnitude: transform(b, m, generator), error, message)  # type: ignore[misc]
    expect(torch.equal(generator.get_state(), state), "the generator was used")
    for limit in (0.0, -1.0, math.inf, math.nan):
        refused(lambda wrong=limit: replace(transform, limit=wrong), ValueError, "limit")  # type: ignore[misc]


def _smooth(x: Tensor) -> Tensor:
    """Make samples so smooth that a small move is a small change, and 0 at their borders."""
    if x.dim() == 3:
        slow = F.interpolate(x[..., :16], x.shape[-1:], mode="linear")
        return slow * torch.hann_window(x.shape[-1]).to(x)
    if x.dim() != 4:
        return x
    large = F.interpolate(x[..., :4, :4], (48, 48), mode="bicubic").clamp(0, 1)
    return large * torch.hann_window(48).to(x) * torch.hann_window(48).to(x)[:, None]
