"""Published policies: the transforms they draw, how often, and how strongly."""

import pytest
import torch
import torch.nn.functional as F
from specimens import seeded

from augnet import AugNet
from augnet.layers import Chain, Policy, Step, active_in_eval, identity
from augnet.layers.published import (
    AUTOAUGMENT,
    DRAWN,
    LIMITS,
    WIDE,
    autoaugment,
    crop_flip,
    published,
    randaugment,
    trivialaugment,
)
from augnet.transforms import HorizontalFlip, Rotate, TranslateX


def images(count=400, side=32):
    return torch.rand(count, 3, side, side, generator=seeded(7))


def test_crop_is_a_window_of_the_padded_image_and_flips_are_even():
    x = images(3000, 8)
    view = crop_flip(padding=2, side=8)(x, seeded(0))
    padded = F.pad(x, (2, 2, 2, 2))
    seen = torch.zeros(len(x), dtype=torch.long)
    counts = torch.zeros(2, 5, 5)
    for down in range(5):
        for right in range(5):
            window = padded[..., down : down + 8, right : right + 8]
            for flipped, candidate in enumerate((window, window.flip(-1))):
                same = (candidate == view).flatten(1).all(1)
                counts[flipped, down, right] = same.sum()
                seen += same
    assert (seen == 1).all()  # exactly one window, mirrored or not, pixel by pixel
    assert counts[1].sum().item() == pytest.approx(1500, abs=4 * 27.4)
    assert counts.sum(0).min() > 75  # each of 25 windows is expected 120 times
    assert counts.sum(0).max() < 170


def test_autoaugment_is_the_published_table():
    policy = autoaugment()
    assert len(policy.subpolicies) == len(AUTOAUGMENT) == 25
    assert all(len(steps) == 2 for steps in policy.subpolicies)
    named = [[(s.transform.name, s.probability) for s in steps] for steps in policy.subpolicies]
    assert named == [[(transform, p) for transform, p, _ in pair] for pair in AUTOAUGMENT]
    rotate, translate = policy.subpolicies[1]
    assert rotate.transform.strength(rotate.magnitude) == pytest.approx(30 * 2 / 9)
    assert translate.transform.strength(translate.magnitude) == pytest.approx(150 / 331)
    posterize = policy.subpolicies[5][1]
    assert posterize.transform.strength(posterize.magnitude) == 3  # of eight bits five are left
    assert posterize.fractions == (1.0,)
    assert rotate.fractions == (-1.0, 1.0)


def test_autoaugment_draws_sub_policies_evenly():
    flat = torch.full((5000, 3, 4, 4), 0.25)  # only color transforms change it, and each in its way
    view = autoaugment()(flat, seeded(0))
    inverted = (view == 0.75).flatten(1).all(1).float().mean().item()
    # Invert: 0.1 in the first, 0.1 after equalize (which leaves an even image) in the 24th; then
    # solarize inverts what is above its threshold: at level 8 with probability 0.2 in the 19th.
    assert inverted == pytest.approx((0.1 * 0.8 + 0.1 + 0.2) / 25, abs=0.006)


@pytest.mark.parametrize(("level", "bits"), [(9, 1), (15, 2), (30, 4)])
def test_randaugment_has_one_level_for_all(level, bits):
    policy = randaugment(level=level)
    nothing, *steps = (step for (step,) in policy.subpolicies)
    assert nothing.magnitude == 0
    assert tuple(step.transform.name for step in steps) == DRAWN
    assert policy.rounds == 3
    for step in steps:
        if step.transform.name == "posterize":
            assert step.transform.strength(step.magnitude) == bits
        elif step.transform.name in LIMITS:
            expected = LIMITS[step.transform.name] * level / 30
            assert step.transform.strength(step.magnitude) == pytest.approx(expected)
        else:
            assert step.transform.strength(step.magnitude) == 1  # always, if drawn


def test_transforms_are_drawn_evenly_and_in_rounds():
    # A policy of fourteen translations by as many pixels says in each image what was drawn.
    width = 64
    x = torch.zeros(7000, 1, 1, width)
    x[..., 0] = 1
    transforms = [Step(TranslateX(n / width), fractions=(1.0,)) for n in range(1, 15)]
    once = Policy([[step] for step in transforms])(x, seeded(0)).argmax(-1).flatten()
    counts = once.bincount(minlength=15)
    assert counts[0] == 0
    assert counts[1:].min() > 500 - 4 * 22
    assert counts[1:].max() < 500 + 4 * 22
    three = Policy([[step] for step in transforms], rounds=3)(x, seeded(0)).argmax(-1).float()
    assert three.mean().item() == pytest.approx(3 * 7.5, abs=0.4)


def test_trivialaugment_takes_all_levels_of_the_wide_space():
    policy = trivialaugment()
    steps = {step.transform.name: step for (step,) in policy.subpolicies[1:]}
    for name, limit in WIDE.items():
        assert steps[name].transform.limit == limit
        assert steps[name].magnitude == 1
    assert sorted(set(steps["rotate"].fractions)) == pytest.approx(
        [level / 30 for level in range(-30, 31)]
    )
    assert len(steps["rotate"].fractions) == 62  # no turn is as likely as each other level
    assert len(steps["solarize"].fractions) == 31
    assert {round(6 * fraction) for fraction in steps["posterize"].fractions} == set(range(7))
    assert all(
        (6 * fraction) == pytest.approx(round(6 * fraction))
        for fraction in steps["posterize"].fractions
    )


def test_magnitudes_come_with_either_sign_and_nothing_between():
    x = torch.full((1000, 3, 2, 2), 0.5)
    view = Policy([[published("brightness", LIMITS, 0.5)]])(x, seeded(0))
    factors = view[:, 0, 0, 0] / 0.5
    assert set(factors.mul(100).round().int().tolist()) == {55, 145}
    assert (factors > 1).float().mean().item() == pytest.approx(0.5, abs=0.07)


@pytest.mark.parametrize("build", [crop_flip, autoaugment, randaugment, trivialaugment])
def test_policies_are_repeatable_and_stay_in_range(build):
    x, policy = images(64), build()
    view = policy(x, seeded(3))
    assert torch.equal(view, policy(x, seeded(3)))
    assert not torch.equal(view, policy(x, seeded(4)))
    assert view.shape == x.shape
    assert view.min() >= 0
    assert view.max() <= 1
    assert policy.eval()(x) is x
    assert torch.equal(
        active_in_eval(policy)(x, seeded(3)), view
    )  # averaged at test, it augments all the same


def test_a_policy_can_be_averaged_at_test():
    policy, x = crop_flip(), images(4)
    net = AugNet(policy, torch.nn.Flatten(), copies=3).eval()
    averaged = AugNet(active_in_eval(policy), torch.nn.Flatten(), copies=3).eval()
    assert torch.allclose(net(x), x.flatten(1))
    assert not torch.allclose(averaged(x, seeded(0)), x.flatten(1))


def test_a_chain_passes_through_its_stages():
    x = images(4)
    flip = Policy([[Step(HorizontalFlip(1.0))]])
    chain = Chain([flip, Policy([[Step(HorizontalFlip(1.0))]])])
    assert torch.equal(chain(x), x)
    assert torch.equal(Chain([flip])(x), x.flip(-1))
    assert torch.equal(Chain([flip]).eval()(x), x)
    assert torch.equal(active_in_eval(Chain([flip]).eval())(x), x.flip(-1))
    assert identity(x) is x


def test_fractions_are_checked():
    with pytest.raises(ValueError, match="horizontal_flip has none"):
        Step(HorizontalFlip(), fractions=(1.0,))
    with pytest.raises(ValueError, match=r"lie in \[-1, 1\]; got \(2.0,\)"):
        Step(Rotate(), fractions=(2.0,))
    with pytest.raises(ValueError, match="level lies between 0 and 30; got 31"):
        randaugment(level=31)
