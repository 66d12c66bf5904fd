"""Running means that forget exponentially, with standard errors, on the device."""

import torch
from torch import Tensor

WEIGHT, SQUARED_WEIGHT, TOTAL, SQUARES = range(4)


class RunningMeans:
    """Means of several quantities over a stream of batches; older batches count less.

    A sample counts `factor` times as much as one of the next batch that has samples of the same
    quantity. Batches without any leave a mean as it is. A mean is the weighted sum over the sum of
    weights, so it is not biased towards 0 at the start.
    """

    def __init__(self, count: int, factor: float, like: Tensor) -> None:
        self.factor = factor
        self.sums = like.new_zeros(4, count)
        self.seen = torch.zeros(count, dtype=torch.long, device=like.device)

    def update(self, count: Tensor, total: Tensor, squares: Tensor) -> None:
        """Add the number of samples of each quantity, the sum of their values and of the squares.

        Nothing is read from the device.
        """
        factor = torch.where(count > 0, self.factor, torch.ones_like(count))
        decay = torch.stack((factor, factor.square(), factor, factor))
        self.sums = decay * self.sums + torch.stack((count, count, total, squares))
        self.seen = self.seen + count.long()

    @property
    def mean(self) -> Tensor:
        """Return the means; NaN where no sample was seen."""
        return self.sums[TOTAL] / self.sums[WEIGHT]

    @property
    def error(self) -> Tensor:
        """Return the standard errors of the means; NaN below two samples."""
        weight, squared_weight, _, squares = self.sums
        share = squared_weight / weight.square()  # 1 / the number of samples that count
        variance = (squares / weight - self.mean.square()).clamp(min=0) / (1 - share)
        return (variance * share).sqrt().where(self.seen > 1, torch.full_like(weight, torch.nan))

    def to(self, device: torch.device) -> None:
        """Move to a device."""
        self.sums, self.seen = self.sums.to(device), self.seen.to(device)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what `load_state_dict` takes."""
        return {"sums": self.sums.clone(), "seen": self.seen.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a state."""
        self.sums, self.seen = state["sums"].to(self.sums), state["seen"].to(self.seen)
