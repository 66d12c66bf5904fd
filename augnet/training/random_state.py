"""Separate the global random numbers of a job from those of its surroundings."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class RandomState:
    """Give the code of a `with` block its own state of torch's global generators.

    Dropout and other layers draw from the global generators. The state starts as a copy of the
    global one; each block continues where the last one ended, and restores the global state.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self._own = self._global_state()
        self._outer: dict[str, Tensor] | None = None

    def __enter__(self) -> None:
        if self._outer is not None:
            raise RuntimeError("this RandomState is in use already: do not nest its blocks")
        self._outer = self._global_state()
        self._set_global_state(self._own)

    def __exit__(self, *exception: object) -> None:
        assert self._outer is not None
        self._own = self._global_state()
        self._set_global_state(self._outer)
        self._outer = None

    def state_dict(self) -> dict[str, Any]:
        """Return the state as tensors; inside a block, the state at this moment."""
        return dict(self._own if self._outer is None else self._global_state())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state, which may come from another type of device."""
        self._own = self._own | dict(state)
        if self._outer is not None:
            self._set_global_state(self._own)

    def _global_state(self) -> dict[str, Tensor]:
        state = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            state["cuda"] = torch.cuda.get_rng_state(self.device)
        elif self.device.type == "mps":
            state["mps"] = torch.mps.get_rng_state()
        return state

    def _set_global_state(self, state: Mapping[str, Tensor]) -> None:
        torch.set_rng_state(state["cpu"].cpu())
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda"].cpu(), self.device)
        elif self.device.type == "mps":
            torch.mps.set_rng_state(state["mps"].cpu())
