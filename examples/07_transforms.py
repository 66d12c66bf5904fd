"""All transforms, in pictures
===========================

Each transform before, and at a third, two thirds and all of its default limit. Where a strength has
a sign, the positive side is shown. The table with names, limits and units is in the reference
(``docs/transforms.md``). The page hides the functions that draw; the script has them.

A range that ``learn`` finds is a strength on these axes: ±20 degrees of ``rotate`` are two thirds
of its limit of 30 degrees.
"""

import math

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from sklearn.datasets import load_sample_image
from torch import Tensor

from augnet.transforms import TRANSFORMS, Bernoulli, Ranged, SamplePairing, build_transforms

CHANNELS = ("F3", "F4", "C3", "C4", "O1", "O2")
SFREQ = 100
shown = set()


# sphinx_gallery_start_ignore
def view(transform, x: Tensor, magnitude: float) -> Tensor:
    """Return the first sample at a strength of magnitude times limit."""
    if isinstance(transform, Bernoulli):
        return transform.transform(x)[0]
    params = transform.sample_params(x.shape, x, torch.Generator().manual_seed(47))
    if isinstance(transform, Ranged):  # params are the fraction of the magnitude that is used
        params = torch.ones_like(params)
    if isinstance(transform, SamplePairing):
        params = (torch.ones_like(params[0]), torch.ones_like(params[1]))
    return transform.apply(x, magnitude, params)[0]


def rows_of(names: str, x: Tensor, draw, height: float) -> None:
    """Draw a row per transform: before, and at three strengths."""
    transforms = build_transforms(names.split(), sfreq=SFREQ, channels=CHANNELS)
    _, axes = plt.subplots(
        len(transforms), 4, figsize=(8, height * len(transforms)), layout="constrained"
    )
    for row, transform in zip(axes, transforms, strict=True):
        for axis, magnitude in zip(row, (0, 1 / 3, 2 / 3, 1), strict=True):
            draw(axis, view(transform, x, magnitude), x[0])
            label = transform.describe(magnitude).split(" of ")[0].replace("±", "+")
            label = label.removeprefix("up or down ").removeprefix("up to ")
            axis.set_title(label if magnitude else transform.name, fontsize=8)
        shown.add(transform.name)
    plt.show()


def pairs_of(names: str, x: Tensor, draw, height: float) -> None:
    """Draw transforms that are applied as a whole: before, and one view for each."""
    transforms = build_transforms(names.split(), sfreq=SFREQ, channels=CHANNELS)
    _, axes = plt.subplots(
        1, len(transforms) + 1, figsize=(8, height), layout="constrained", squeeze=False
    )
    draw(axes[0, 0], x[0], x[0])
    axes[0, 0].set_title("before", fontsize=8)
    for axis, transform in zip(axes[0, 1:], transforms, strict=True):
        draw(axis, view(transform, x, 1), x[0])
        axis.set_title(transform.name, fontsize=8)
        shown.add(transform.name)
    plt.show()


def picture(axis: Axes, image: Tensor, _: Tensor) -> None:
    """Draw an image."""
    axis.imshow(image.movedim(0, -1).clamp(0, 1).numpy())
    axis.set_axis_off()


def trace(axis: Axes, signal: Tensor, before: Tensor) -> None:
    """Draw the channels of a signal above each other, and in gray what they were before."""
    for place, (now, then) in enumerate(zip(signal, before, strict=True)):
        axis.plot(then - 2 * place, color="0.8", lw=0.8)
        axis.plot(now - 2 * place, color="C0", lw=0.8)
    axis.set_ylim(-2 * len(signal), 2)
    axis.set_axis_off()


# sphinx_gallery_end_ignore
# %%
# Images: geometry
# ----------------
#
# The flower comes with scikit-learn (by dany13, CC BY). What leaves the image is lost, and what
# enters it is black.

photo = torch.tensor(load_sample_image("flower.jpg")).movedim(-1, 0) / 255
other = torch.tensor(load_sample_image("china.jpg")).movedim(-1, 0) / 255
images = torch.stack([photo[:, 40:400, 140:500], other[:, 40:400, 140:500]])
images = torch.nn.functional.avg_pool2d(images, 4)

rows_of("translate_x translate_y shear_x shear_y rotate scale", images, picture, 1.9)

# %%
# Images: color and pixels
# ------------------------
#
# ``cutout`` sets a box anywhere in the image, so a larger one need not contain a smaller one.
# ``sample_pairing`` blends with another sample of the batch.

rows_of(
    "brightness contrast saturation sharpness hue solarize posterize cutout sample_pairing",
    images, picture, 1.9,
)  # fmt: skip

# %%
# Images: applied as a whole
# --------------------------
#
# These have a probability and no strength. A sample is transformed completely or not at all.

pairs_of("horizontal_flip vertical_flip invert gray autocontrast equalize", images, picture, 1.6)

# %%
# Signals: time and amplitude
# ---------------------------
#
# Three seconds at 100 Hz: a rhythm of 4 Hz, a short burst of 12 Hz and a slow drift. Gray is the
# signal before.

time = torch.arange(3 * SFREQ) / SFREQ
burst = torch.exp(-(((time - 0.9) / 0.25) ** 2)) * torch.sin(2 * math.pi * 12 * time)
signal = 0.4 * torch.sin(2 * math.pi * 4 * time) + burst + 0.2 * (time - 1.5)
signals = torch.stack([signal, signal.flip(0)])[:, None]

rows_of("time_shift speed time_mask gaussian_noise amplitude_scale", signals, trace, 1.0)

# %%
# Signals: frequency
# ------------------
#
# ``bandstop`` removes a band at a random place of the spectrum; here
# that of the rhythm. Surrogates keep the spectrum and change the phases.

rows_of("frequency_shift bandstop ft_surrogate centered_ft_surrogate", signals, trace, 1.0)

# %%
# Signals: sensors
# ----------------
#
# Six electrodes, from the front (F3, F4) to the back (O1, O2); odd numbers are on the left. Each
# has another amplitude and phase. A rotation of the cap mixes neighbors.

gains = torch.tensor([1.6, 0.1, 1.2, 0.4, 0.1, 0.8])
delays = torch.arange(6) * 0.03
sensors = gains[:, None] * torch.sin(2 * math.pi * 2 * (time - delays[:, None]))
sensors = sensors[None]

rows_of(
    "channel_dropout channel_shuffle sensor_rotation_x sensor_rotation_y sensor_rotation_z",
    sensors, trace, 1.6,
)  # fmt: skip

# %%
# Signals: applied as a whole
# ---------------------------

pairs_of("time_reverse sign_flip", signals, trace, 1.0)
pairs_of("channel_symmetry", sensors, trace, 1.6)

# %%
# No transform of augnet is left out:

built_in = {name for name, cls in TRANSFORMS.items() if cls.__module__.startswith("augnet.")}
assert shown == built_in, built_in ^ shown
print(len(shown), "transforms")
