"""One loop for everything that trains."""

import time

import pytest
import torch
from torch import nn

from augnet.training import Loop, NonFiniteError, descend, one_cycle, update
from augnet.training import loop as module


def loss_of(batch):
    return {"loss": torch.tensor(float(batch))}


def test_each_epoch_gives_a_row_with_the_means():
    loop = Loop(lambda: [1, 2, 6], loss_of, epochs=2)
    assert list(loop) == [{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": 3.0}]
    assert loop.history == [{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": 3.0}]
    assert (loop.done, loop.epoch, loop.finished, loop.progress) == (6, 2, True, 1.0)
    assert type(loop.history[0]["loss"]) is float


def test_batches_count_by_their_weight():
    loop = Loop(lambda: [1, 3], loss_of, epochs=1, weight=lambda batch: batch)
    assert next(iter(loop))["loss"] == (1 + 9) / 4


def test_a_value_that_some_steps_leave_out_is_averaged_over_the_others():
    def step(batch):
        return loss_of(batch) | ({"rare": torch.tensor(5.0)} if batch == 2 else {})

    assert next(iter(Loop(lambda: [1, 2], step, epochs=1)))["rare"] == 5.0


def test_means_of_low_precision_are_exact():
    step = lambda _: {"loss": torch.tensor(1.0, dtype=torch.bfloat16)}  # noqa: E731
    assert next(iter(Loop(lambda: range(1000), step, epochs=1)))["loss"] == 1.0


class Unread(torch.Tensor):
    """A tensor that tells when it is read off its device."""

    read = 0

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        names = ("item", "tolist", "__float__", "__bool__", "numpy")
        if getattr(function, "__name__", "") in names:
            Unread.read += 1
        return super().__torch_function__(function, types, args, kwargs or {})


def test_values_are_read_once_per_epoch_and_carry_no_graph(monkeypatch):
    monkeypatch.setattr(Unread, "read", 0)
    weight = torch.ones((), requires_grad=True)
    reads = []

    def step(batch):
        reads.append(Unread.read)
        loss = (batch * weight).as_subclass(Unread)
        return {"loss": loss, "twice": 2 * loss}

    loop = Loop(lambda: [1, 2, 3], step, epochs=2)
    assert [row["twice"] for row in loop] == [4.0, 4.0]
    assert reads == [0, 0, 0, 1, 1, 1]
    assert Unread.read == 2


def test_planned_steps_end_an_epoch_early_and_draw_no_further_batch():
    drawn = []

    def batches():
        for batch in range(4):
            drawn.append(batch)
            yield batch

    rows = list(Loop(batches, loss_of, steps=6))
    assert [row["loss"] for row in rows] == [1.5, 0.5]
    assert drawn == [0, 1, 2, 3, 0, 1]


def test_whichever_of_epochs_and_steps_comes_first_ends_the_loop():
    assert len(list(Loop(lambda: [1, 2], loss_of, epochs=2, steps=100))) == 2
    assert len(list(Loop(lambda: [1, 2], loss_of, epochs=9, steps=3))) == 2


def test_the_schedule_sees_progress_in_steps_or_else_in_epochs():
    seen = []
    list(Loop(lambda: [1, 2], loss_of, steps=4, epochs=9, schedule=seen.append))
    assert seen == [0.0, 0.25, 0.5, 0.75]
    seen.clear()
    list(Loop(lambda: [1, 2], loss_of, epochs=2, schedule=seen.append))
    assert seen == [0.0, 0.0, 0.5, 0.5]


def test_the_epoch_counts_from_one_while_steps_run():
    seen = []
    loop = Loop(lambda: [1], lambda batch: seen.append((loop.epoch, loop.done)) or {}, epochs=2)
    assert loop.epoch == 0
    assert list(loop) == [{"epoch": 1}, {"epoch": 2}]
    assert seen == [(1, 0), (2, 1)]


def test_a_step_may_change_the_planned_steps():
    def step(batch):
        if loop.done == 2:
            loop.steps = 5
        return loss_of(batch)

    loop = Loop(lambda: [1, 2], step, steps=100)
    assert len(list(loop)) == 3
    assert (loop.done, loop.progress) == (5, 1.0)


def test_nothing_is_done_when_nothing_is_planned():
    assert list(Loop(lambda: [1], loss_of, epochs=0)) == []
    assert Loop(lambda: [1], loss_of, steps=0).progress == 1.0


@pytest.mark.parametrize(
    ("plan", "message"), [({}, "epochs, steps or both"), ({"epochs": 1, "seconds": 1.0}, "steps")]
)
def test_a_loop_without_a_plan_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        Loop(lambda: [1], loss_of, **plan)


def test_an_epoch_without_batches_is_refused():
    with pytest.raises(ValueError, match="epoch 1 has no batches"):
        list(Loop(list, loss_of, epochs=1))


def test_a_value_that_is_no_scalar_is_refused():
    with pytest.raises(ValueError, match=r"'loss' of shape \(2,\)"):
        list(Loop(lambda: [1], lambda _: {"loss": torch.ones(2)}, epochs=1))


class Training:
    """A small network that is trained, with all that changes."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.net = nn.Linear(3, 1)
        self.optimizer = torch.optim.AdamW(self.net.parameters())
        self.generator = torch.Generator().manual_seed(1)
        schedule = lambda progress: one_cycle(self.optimizer, 0.1, progress)  # noqa: E731
        self.loop = Loop(self.batches, self.step, steps=11, schedule=schedule)
        self.parts = {"net": self.net, "optimizer": self.optimizer, "loop": self.loop}

    def batches(self):
        """Give random batches."""
        return torch.randn(4, 5, 3, generator=self.generator)

    def step(self, x):
        """Fit the sum."""
        loss = (self.net(x) - x.sum(1, keepdim=True)).square().mean()
        descend(self.optimizer, loss)
        return {"loss": loss}

    def state_dict(self):
        """Return all that changes."""
        state = {name: part.state_dict() for name, part in self.parts.items()}
        return state | {"generator": self.generator.get_state()}

    def load_state_dict(self, state):
        """Continue from a state."""
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])


@pytest.mark.parametrize("left_after", [1, 2, 3])
def test_a_resumed_loop_gives_the_same_history(left_after):
    whole = Training()
    list(whole.loop)
    first = Training()
    for row in first.loop:
        row["added"] = 7  # by the caller, kept in the state
        if row["epoch"] == left_after:
            break
    second = Training()
    second.load_state_dict(first.state_dict())
    list(second.loop)
    assert [row["loss"] for row in second.loop.history] == [
        row["loss"] for row in whole.loop.history
    ]
    assert [row.get("added") for row in second.loop.history] == [7] * left_after + [None] * (
        3 - left_after
    )
    assert torch.equal(second.net.weight, whole.net.weight)


def test_the_same_loop_goes_on_after_it_was_left():
    loop = Loop(lambda: [1], loss_of, epochs=3)
    next(iter(loop))
    assert [row["epoch"] for row in loop] == [2, 3]


def test_the_state_is_plain_and_a_copy():
    loop = Loop(lambda: [1], loss_of, epochs=2)
    rows = iter(loop)
    next(rows)
    state = loop.state_dict()
    next(rows)
    assert state == {
        "done": 1,
        "epoch": 1,
        "steps": None,
        "planned": None,
        "history": [{"epoch": 1, "loss": 1.0}],
    }


def test_a_loop_is_extended_after_its_end():
    loop = Loop(lambda: range(4), loss_of, steps=6)
    assert len(list(loop)) == 2
    loop.extend(3)
    assert (loop.steps, loop.finished) == (9, False)
    assert [row["epoch"] for row in loop] == [3]
    assert (loop.done, loop.progress) == (9, 1.0)


class Clock:
    """A clock that only steps move."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.pace = 100.0, 1.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)

    def step(self, batch):
        """Take some time."""
        self.now += self.pace
        return loss_of(batch)


def test_steps_are_lowered_to_fit_into_the_seconds(monkeypatch):
    clock, planned = Clock(monkeypatch), []
    loop = Loop(
        lambda: range(4),
        clock.step,
        steps=1000,
        seconds=60.0,
        schedule=lambda _: planned.append(loop.steps),
    )
    list(loop)
    assert (loop.steps, loop.done, clock.now) == (60, 60, 160.0)
    assert planned == [1000] * 10 + [60] * 50
    assert loop.progress == 1.0


def test_the_time_of_the_caller_counts(monkeypatch):
    clock = Clock(monkeypatch)
    loop = Loop(lambda: range(10), clock.step, steps=1000, seconds=60.0)
    for _ in loop:
        clock.now += 20.0
    assert (loop.done, clock.now) == (21, 181.0)  # one step after the time is over


def test_seconds_are_planned_again_when_the_pace_changes(monkeypatch):
    clock, planned = Clock(monkeypatch), {}

    def step(batch):
        clock.pace = 4.0 if loop.done < 20 else 0.5
        planned[loop.done] = loop.steps
        return clock.step(batch)

    loop = Loop(lambda: range(50), step, steps=100, seconds=100.0)
    list(loop)
    assert [planned[done] for done in (0, 10, 20)] == [100, 25, 25]
    assert planned[24] == 25  # before the next plan
    assert (loop.done, clock.now) == (25, 182.5)


def test_a_loop_never_ends_later_than_one_step_after_its_time(monkeypatch):
    clock = Clock(monkeypatch)

    def step(batch):
        clock.pace = 1.0 if loop.done < 12 else 30.0
        return clock.step(batch)

    loop = Loop(lambda: range(50), step, steps=1000, seconds=50.0)
    list(loop)
    assert (loop.done, loop.steps, clock.now) == (14, 14, 172.0)


@pytest.mark.parametrize(("seconds", "steps"), [(1e9, 30), (0.5, 1), (0.0, 1), (-3.0, 1)])
def test_steps_are_never_raised_and_at_least_one(monkeypatch, seconds, steps):
    loop = Loop(lambda: range(40), Clock(monkeypatch).step, steps=30, seconds=seconds)
    list(loop)
    assert loop.done == loop.steps == steps


@pytest.mark.parametrize("last", [20, 21])
def test_a_step_ends_a_loop_though_there_is_time(monkeypatch, last):
    def step(batch):
        if loop.done + 1 == last:
            loop.steps = last
        return clock.step(batch)

    clock = Clock(monkeypatch)
    loop = Loop(lambda: range(7), step, steps=100, seconds=1e6)
    list(loop)
    assert loop.done == loop.steps == last


def test_a_clock_that_stands_still_lowers_nothing(monkeypatch):
    clock = Clock(monkeypatch)
    clock.pace = 0.0
    loop = Loop(lambda: range(7), clock.step, steps=25, seconds=1.0)
    list(loop)
    assert loop.done == 25


def test_a_resumed_loop_plans_with_the_seconds_that_it_is_given(monkeypatch):
    clock = Clock(monkeypatch)
    first = Loop(lambda: range(12), clock.step, steps=1000, seconds=60.0)
    next(iter(first))
    assert first.steps == 60
    second = Loop(lambda: range(12), clock.step, steps=1000, seconds=100.0)
    second.load_state_dict(first.state_dict())
    list(second)
    assert second.done == 12 + 100


def test_steps_run_in_real_time():
    loop = Loop(lambda: range(50), lambda _: time.sleep(0.01) or {}, steps=50, seconds=0.05)
    list(loop)
    assert 1 <= loop.done <= 5


def parameter(value=1.0):
    return nn.Parameter(torch.tensor(value))


def test_descend_forgets_old_gradients_and_steps_down():
    weight = parameter()
    weight.grad = torch.tensor(100.0)
    descend(torch.optim.SGD([weight], lr=0.5), 2 * weight)
    assert weight.item() == 0.0


def test_several_optimizers_share_one_loss():
    one, two = parameter(), parameter()
    optimizers = torch.optim.SGD([one], lr=0.5), torch.optim.SGD([two], lr=0.25)
    descend(optimizers[0], 2 * one + 2 * two, optimizers[1])
    assert (one.item(), two.item()) == (0.0, 0.5)


def test_descend_uses_the_backward_of_others():
    weight, losses = parameter(), []

    def backward(loss):
        losses.append(loss.item())
        (3 * loss).backward()

    descend(torch.optim.SGD([weight], lr=1.0), weight.clone(), backward=backward)
    assert (losses, weight.item()) == ([1.0], -2.0)


def test_update_takes_gradients_in_order_and_skips_none():
    one, two, three = parameter(), parameter(), parameter()
    one.grad = torch.tensor(9.0)
    groups = [{"params": [one, two]}, {"params": [three], "lr": 2.0}]
    update(torch.optim.SGD(groups, lr=1.0), (None, torch.tensor(1.0), torch.tensor(1.0)))
    assert [p.item() for p in (one, two, three)] == [1.0, 0.0, -1.0]


def test_update_refuses_another_number_of_gradients():
    with pytest.raises(ValueError, match="got 2 gradients for 1 parameters"):
        update(torch.optim.SGD([parameter()], lr=1.0), (None, None))


def test_one_cycle_warms_up_and_cools_down():
    optimizer = torch.optim.SGD([parameter()], lr=1.0)
    rates = []
    for progress in (0.0, 0.05, 0.1, 0.55, 1.0):
        one_cycle(optimizer, 2.0, progress)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.1, 1.1, 2.0, 1.0, 0.002])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_the_training(value):
    losses = iter([1.0, value, 1.0, 1.0])
    loop = Loop(lambda: range(2), lambda _: {"loss": torch.tensor(next(losses))}, epochs=2)
    with pytest.raises(NonFiniteError, match=f"loss is {value} in epoch 1: lower the learning"):
        list(loop)
    assert loop.history == []
