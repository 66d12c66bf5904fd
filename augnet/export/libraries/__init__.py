"""Other libraries: their code for each transform, and how it differs from augnet.

base             what a library is; how numbers are written
kornia, torchvision, albumentations     images
braindecode      signals
"""

from augnet.export.libraries.albumentations import ALBUMENTATIONS
from augnet.export.libraries.base import Library
from augnet.export.libraries.braindecode import BRAINDECODE
from augnet.export.libraries.kornia import KORNIA
from augnet.export.libraries.torchvision import TORCHVISION

LIBRARIES: dict[str, Library] = {
    "kornia": KORNIA,
    "torchvision": TORCHVISION,
    "albumentations": ALBUMENTATIONS,
    "braindecode": BRAINDECODE,
}

__all__ = ["LIBRARIES", "Library"]
