"""Bring images to the scale of those that a model was learned from."""

import torch
from torch import Tensor

from augnet.data.input_spec import InputSpec
from augnet.data.read_log import DataError, ReadLog

LEVELS = 255.0
MARGIN = 0.5
"""Floats may be this far outside of [0, 1], such as after resampling."""


def rescale(x: Tensor, spec: InputSpec, log: ReadLog) -> Tensor:
    """Convert bytes to floats in [0, 1] and back, if the model takes these; refuse other scales.

    Models of older versions do not say what they take: if it cannot be told, a note says so.
    """
    if spec.kind != "images" or not len(x):
        return x
    low, high = min(spec.center), max(spec.center) + max(spec.scale)
    unit, levels = (low, high) == (0, 1), low >= 0 and LEVELS / 2 < high <= LEVELS
    bottom, top = _range(x)
    of_unit = x.is_floating_point() and bottom >= 0 and top <= 1
    if spec.values is None:
        if (unit and not x.is_floating_point()) or (levels and of_unit):
            log.note(
                "the model does not say whether it takes bytes or floats, as it was learned by an "
                f"older version. It takes values from {low:g} to {high:g}, and these go from "
                f"{bottom:g} to {top:g}: are they scaled in the same way?"
            )
        return x
    if levels and of_unit:
        log.note("values from 0 to 1 were multiplied by 255, because the model takes bytes")
        return x * LEVELS
    if unit and not x.is_floating_point():
        log.note("bytes were divided by 255, because the model takes values from 0 to 1")
        return x / LEVELS
    if (
        (spec.values == "bytes" and (bottom < 0 or top > LEVELS))
        or (unit and (bottom < -MARGIN or top > 1 + MARGIN))
        or not (unit or levels or x.is_floating_point())
    ):
        found = "floats" if x.is_floating_point() else "bytes"
        raise DataError(
            f"these images are {found} from {bottom:g} to {top:g}; the model takes {spec.values} "
            f"from {low:g} to {high:g}: scale them as those that it was learned from"
        )
    if bottom < low - (high - low) or top > high + (high - low):
        log.note(
            f"these images have values from {bottom:g} to {top:g}; those that the model was "
            f"learned from have values from {low:g} to {high:g}: are they scaled in the same way?"
        )
    return x


def _range(x: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest value; NaN and infinite values are skipped later."""
    if x.is_floating_point():
        x = x[x.isfinite()]
    if not x.numel():
        return 0.0, 0.0
    low, high = torch.aminmax(x)
    return float(low), float(high)
