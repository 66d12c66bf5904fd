"""Weights that follow from ranges: which transforms keep theirs, and which one is selected."""

import pytest
import torch
from specimens import seeded
from tuned import Add, Lift, Negate, Scatter, scripted

from augnet import AugmentationLayer, AugmentationModule, RangeTuner
from augnet.layers.edges import draw_choices
from augnet.layers.selection import displacement, weigh


def test_a_transform_whose_range_cannot_leave_zero_loses_its_weight():
    layer = AugmentationLayer(Add(), Lift(), Scatter(), Negate(), temperature=0.5)
    tuner = RangeTuner(layer, rate=0.5, warmup=0)
    for _ in range(20):
        scripted(tuner, torch.zeros(64, 3), [[0.0, 9.0, 0.0, 0.0]])
    assert layer.weights.tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
    table = tuner.finish()
    assert layer.weights[1] == 0
    assert layer.magnitudes[1] == 0
    assert [row.magnitude == 0 for row in table] == [False, True, False]


def test_a_layer_that_keeps_nothing_is_the_identity():
    for select in ("all", "one"):
        layer = AugmentationLayer(Add(), Lift())
        tuner = RangeTuner(layer, select=select, rate=0.5, warmup=0)
        for _ in range(40):
            scripted(tuner, torch.zeros(64, 3), [[9.0, 9.0]])
        tuner.finish()
        x = torch.randn(16, 3)
        assert torch.equal(layer.eval()(x), x)
        assert layer.weights.sum() == pytest.approx(1)


def test_one_selects_the_transform_that_moves_the_data_farthest():
    layer = AugmentationLayer(Add(limit=2.0), Lift(limit=8.0), Scatter(limit=9.0))
    tuner = RangeTuner(layer, select="one", rate=0.5, warmup=0, start=0.5)
    scripted(tuner, torch.zeros(64, 3), [[0.0, 0.0, 0.0]])
    assert layer.weights.tolist() == [0, 1, 0]  # 4 everywhere, and not 4.5 in one of three
    for _ in range(20):
        scripted(tuner, torch.zeros(64, 3), [[0.0, 9.0, 0.0]])
    assert layer.weights.tolist() == [0, 0, 1]  # what cannot leave 0 is not selected
    state = tuner.state_dict()
    other = AugmentationLayer(Add(limit=2.0), Lift(limit=8.0), Scatter(limit=9.0))
    RangeTuner(other, select="one").load_state_dict(state)
    assert other.weights.tolist() == [0, 0, 1]
    tuner.finish()
    assert layer.weights.tolist() == [0, 0, 1]
    assert layer.selected is None


def test_what_has_no_range_is_not_selected_and_keeps_its_weight_in_a_layer_of_its_own():
    flips = AugmentationLayer(Negate(), Negate(limit=0.3))
    flips.logits.data.copy_(torch.tensor([1.0, 0.0]))
    before = flips.weights.tolist()
    mixed = AugmentationLayer(Negate(), Add(), magnitude=1.0)
    tuner = RangeTuner(AugmentationModule(flips, mixed), select="one", rate=0.5, warmup=0)
    for _ in range(20):
        scripted(tuner, torch.zeros(64, 3), [[0.0, 0.0], [0.0, 9.0]])
    tuner.finish()
    assert flips.weights.tolist() == before
    assert mixed.weights.tolist() == [0, 1]  # at magnitude 0: the identity
    assert mixed.magnitudes[1] == 0


def test_edges_of_later_layers_are_measured_on_top_of_what_was_selected():
    transforms = [Add(limit=1.0), Lift(limit=100.0)]
    layers = [AugmentationLayer(*transforms) for _ in range(3)]
    module = AugmentationModule(*layers)
    RangeTuner(module, select="one", start=0.5)
    for layer in layers:
        layer.selected = torch.tensor(0)
    x = torch.zeros(1200, 3)
    view = module(x, seeded(0))[:, 0]
    first, second, third = (layer.choice for layer in layers)
    measured = torch.stack([choice.measured for choice in (first, second, third)])
    assert measured.sum(0).max() == 1
    for place, choice in enumerate((first, second, third)):
        for index, size in enumerate((0.5, 50.0)):
            these = choice.measured & (choice.transform == index)
            assert these.sum() == 75
            ends = view[these].abs()
            if index == 0:  # all at the same end: the strengths of the layers add up
                torch.testing.assert_close(ends, torch.full_like(ends, size * (place + 1)))
                assert view[these].min() < 0 < view[these].max()
            else:
                assert set(ends.tolist()) == {50 - 0.5 * place, 50 + 0.5 * place}


def test_layers_that_keep_all_are_measured_alone():
    choices = draw_choices([[Add()], [Add()]], 80, torch.zeros(1), seeded(0))
    for mine, other in (choices, choices[::-1]):
        assert torch.equal(mine.edge, mine.measured)
        assert (other.transform[mine.measured] == 1).all()


def test_a_layer_after_one_that_uses_up_the_tolerance_becomes_the_identity():
    module = AugmentationModule(AugmentationLayer(Add()), AugmentationLayer(Add()))
    tuner = RangeTuner(module, tolerance=0.1, select="one", rate=0.2, warmup=0, start=0.05)
    x = torch.zeros(64, 3)
    for _ in range(150):
        view = module(x)[:, 0].abs()
        tuner.step((view - 2).clamp(min=0))  # a total of 2 is free
    first, second = tuner.finish()
    assert first.strength == pytest.approx(2.1, rel=0.05)
    assert second.strength == 0
    assert [layer.weights.item() for layer in module] == [1, 1]


def leave(select, *layers):
    """Finish a tuner whose ranges have shrunk a little, of transforms that moved samples alike."""
    module = AugmentationModule(*(AugmentationLayer(*transforms) for transforms in layers))
    tuner = RangeTuner(module, select=select, start=0.05)
    tuner.average = torch.full_like(tuner.average, 0.04)
    tuner.finish()
    return tuner, [layer.magnitudes.tolist() for layer in module]


def test_what_is_left_over_of_a_transform_that_a_layer_before_has_is_set_to_0():
    close = pytest.approx
    assert leave("one", [Add()], [Add()])[1] == [close([0.04]), [0]]
    assert leave("one", [Add()], [Lift()])[1] == [close([0.04]), close([0.04])]
    assert leave("all", [Add()], [Add()])[1] == [close([0.04]), close([0.04])]


def test_what_is_left_over_may_be_selected_and_survives_a_state():
    layers = [[Add(), Lift()], [Add(), Scatter()]]
    tuner, (first, second) = leave("one", *layers)
    assert first == pytest.approx([0.04, 0.04])
    assert second == pytest.approx([0, 0.04])
    assert tuner.layers[1].weights.tolist() == [1, 0]
    assert [row.strength for row in tuner.table()][2] == 0
    again = RangeTuner(AugmentationModule(*(AugmentationLayer(*each) for each in layers)),
                       select="one", start=0.5)  # fmt: skip
    again.load_state_dict(tuner.state_dict())
    for layer, other in zip(tuner.layers, again.layers, strict=True):
        torch.testing.assert_close(layer.magnitudes, other.magnitudes)
        torch.testing.assert_close(layer.weights, other.weights)


def test_weights_are_shared_or_given_to_the_farthest():
    layer = AugmentationLayer(Add(), Lift(), Scatter(), magnitude=[0.1, 0.5, 0.2])
    moves = displacement(layer, torch.zeros(500, 3), seeded(0))
    assert moves.tolist() == pytest.approx([0.4, 2.0, 1.6 / 3**0.5], rel=0.1)
    kept = torch.tensor([True, False, True])
    assert weigh(layer, kept, moves, "one") == 2
    assert layer.weights.tolist() == [0, 0, 1]
    weigh(layer, kept, moves, "all")
    assert layer.weights.tolist() == [0.5, 0, 0.5]
    weigh(layer, kept, torch.tensor([torch.nan, 1.0, torch.nan]), "one")
    assert layer.weights.tolist() == [1, 0, 0]


def test_select_is_all_or_one():
    with pytest.raises(ValueError, match="select is one of all, one; got 'best'"):
        RangeTuner(AugmentationLayer(Add()), select="best")
