"""braindecode: batches of signals."""

import math

from augnet.export.libraries.base import (
    ONE_TRANSFORM_PER_SAMPLE,
    Library,
    Line,
    bernoulli,
    choice,
    number,
    ranged,
)
from augnet.export.steps import Step

_AUGMENT = '''class Augment(torch.nn.Sequential):
    """Apply transforms in sequence; labels are for AugmentedDataLoader, and stay as they are."""

    def forward(self, x, y=None):
        view = super().forward(x)
        return view if y is None else (view, y)'''


def _sensors(axis: str) -> Line:
    """Write a rotation with positions: braindecode drops electrodes whose names it lacks."""

    def line(step: Step) -> str:
        positions = getattr(step.transform, "positions", ())
        rows = (f"[{', '.join(map(number, row))}]" for row in zip(*positions, strict=True))
        matrix = f"torch.tensor([{', '.join(rows)}], dtype=torch.float64)"
        return (
            f"B.SensorsRotation(probability=1.0, sensors_positions_matrix={matrix}, "
            f'axis="{axis}", max_degrees={number(step.strength)})'
        )

    return line


def _channels(step: Step) -> list[str]:
    return list(getattr(step.transform, "channels", ()))


def _sfreq(step: Step) -> float:
    return getattr(step.transform, "sfreq", 0.0)


BRAINDECODE = Library(
    kind="signals",
    imports="import torch\nfrom braindecode import augmentation as B",
    lines={
        "time_reverse": bernoulli("B.TimeReverse", "probability"),
        "sign_flip": bernoulli("B.SignFlip", "probability"),
        "ft_surrogate": ranged(
            "B.FTSurrogate",
            lambda s: f"probability=1.0, phase_noise_magnitude={number(s / (2 * math.pi))}",
        ),
        "frequency_shift": lambda step: (
            f"B.FrequencyShift(probability=1.0, sfreq={number(_sfreq(step))}, "
            f"max_delta_freq={number(step.strength)})"
        ),
        "bandstop": lambda step: (
            f"B.BandstopFilter(probability=1.0, sfreq={number(_sfreq(step))}, "
            f"bandwidth={number(step.strength)}, max_freq={number(_sfreq(step) / 2)})"
        ),
        "gaussian_noise": ranged("B.GaussianNoise", lambda s: f"probability=1.0, std={number(s)}"),
        "time_mask": ranged(
            "B.SmoothTimeMask",
            lambda s: f"probability=1.0, mask_len_samples={max(1, round(s))}",
        ),
        "channel_dropout": ranged(
            "B.ChannelsDropout", lambda s: f"probability=1.0, p_drop={number(s)}"
        ),
        "channel_shuffle": ranged(
            "B.ChannelsShuffle", lambda s: f"probability=1.0, p_shuffle={number(s)}"
        ),
        "channel_symmetry": lambda step: (
            f"B.ChannelsSymmetry(probability={number(step.strength)}, "
            f"ordered_ch_names={_channels(step)})"
        ),
        **{f"sensor_rotation_{axis}": _sensors(axis) for axis in "xyz"},
    },
    identity="torch.nn.Identity()",
    draw=choice,
    definitions=_AUGMENT,
    draw_definitions=ONE_TRANSFORM_PER_SAMPLE,
    draw_note="Choice draws for each sample. braindecode has no such draw: Compose applies all.",
    template="augment = Augment(\n{steps}\n)  # of a batch (B, C, T)",
    differences={
        "bandstop": "damps up to 1 Hz beside the band, too, and keeps the outermost 1 Hz plus 1.5 "
        "bandwidths; augnet has sharp edges, and keeps 1 Hz"
    }
    | {f"sensor_rotation_{axis}": "smooths the data a little even at 0°" for axis in "xyz"},
)
