"""Small real data sets that come with augnet; README.md has their sources and licenses.

`augnet learn digits` reads one by its name, unless there is a file or folder of that name.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

FOLDER = Path(__file__).parent
EXAMPLES = {
    "digits": "digits: the test part of Optical Recognition of Handwritten Digits, by E. Alpaydin "
    "and C. Kaynak (1998), UCI Machine Learning Repository, doi.org/10.24432/C50P49, CC BY 4.0"
}
"""The sources of the data sets, by name."""


def load_digits() -> tuple[Tensor, Tensor]:
    """Return 1 797 handwritten digits: images (N, 1, 12, 12) in [0, 1], and labels 0 to 9.

    >>> x, y = load_digits()
    >>> tuple(x.shape), y.unique().tolist()
    ((1797, 1, 12, 12), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    with np.load(FOLDER / "digits.npz", allow_pickle=False) as file:
        x, y = file["x"], file["y"]
    return torch.from_numpy(x).float() / 255, torch.from_numpy(y).long()


def find(path: Path) -> tuple[Path, str]:
    """Return the file of a data set by its name, and its source; any other path as it is."""
    source = EXAMPLES.get(str(path), "")
    return (path, "") if not source or path.exists() else (FOLDER / f"{path}.npz", source)
