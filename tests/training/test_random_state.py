"""A job's random numbers are its own."""

import pytest
import torch

from augnet.training import RandomState


def test_a_block_continues_its_own_numbers_and_leaves_the_others_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(7)
    outside = torch.rand(2)
    torch.manual_seed(7)
    own = RandomState("cpu")
    with own:
        torch.manual_seed(3)
        first = torch.rand(2)
    between = torch.rand(2)
    with own:
        second = torch.rand(2)
    assert torch.equal(torch.cat((first, second)), expected)
    assert torch.equal(between, outside)


def test_the_state_starts_as_the_global_one():
    torch.manual_seed(3)
    own = RandomState()
    expected = torch.rand(2)
    with own:
        assert torch.equal(torch.rand(2), expected)


def test_another_continues_from_a_saved_state_also_inside_a_block():
    first, second = RandomState(), RandomState()
    with first:
        torch.manual_seed(3)
        state = first.state_dict()
        expected = torch.rand(2)
    second.load_state_dict(state)
    with second:
        assert torch.equal(torch.rand(2), expected)
        second.load_state_dict(state)
        assert torch.equal(torch.rand(2), expected)


def test_the_state_is_kept_and_the_global_one_restored_after_an_error():
    torch.manual_seed(7)
    before, own = torch.get_rng_state(), RandomState()

    def fail():
        with own:
            torch.rand(3)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    assert torch.equal(own.state_dict()["cpu"], torch.get_rng_state())


def test_a_block_within_a_block_of_the_same_state_is_refused():
    own = RandomState()
    with own, pytest.raises(RuntimeError, match="do not nest"), own:
        pass


def test_cuda_has_a_state_of_its_own(monkeypatch):
    states = {"cuda:1": torch.tensor([1], dtype=torch.uint8)}
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: states[str(device)])
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: states.update({str(device): state})
    )
    own = RandomState("cuda:1")
    with own:
        states["cuda:1"] = torch.tensor([2], dtype=torch.uint8)
    assert states["cuda:1"].item() == 1
    assert own.state_dict()["cuda"].item() == 2
    on_cpu = RandomState("cpu")
    on_cpu.load_state_dict(own.state_dict())  # a job may move to a machine without GPU
    own.load_state_dict(RandomState("cpu").state_dict())  # and back
    with on_cpu, own:
        assert states["cuda:1"].item() == 2


def test_mps_has_a_state_of_its_own(monkeypatch):
    states = [torch.tensor([1], dtype=torch.uint8)]
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: states[-1])
    monkeypatch.setattr(torch.mps, "set_rng_state", states.append)
    own = RandomState("mps")
    with own:
        states.append(torch.tensor([2], dtype=torch.uint8))
    assert states[-1].item() == 1
    assert own.state_dict()["mps"].item() == 2
    own.load_state_dict(RandomState("cpu").state_dict())
    with own:
        assert states[-1].item() == 2
