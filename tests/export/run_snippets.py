"""Run snippets in the environment of their library: python run_snippets.py DIRECTORY.

The directory has x.npy, images (B, C, H, W) in [0, 1], and snippets NAME.py. The views of NAME.py
are written to NAME.npy, (draws, B, C, H, W). This needs numpy and the library, not augnet.
"""

import sys
from pathlib import Path

import numpy as np

DRAWS = 40


def views(augment, x):
    """Return views of each image by itself."""
    if not hasattr(augment, "set_random_seed"):  # only albumentations has it
        import torch

        torch.manual_seed(0)
        images = torch.from_numpy(x)
        made = [torch.stack([augment(image) for image in images]) for _ in range(DRAWS)]
        return torch.stack(made).numpy()
    augment.set_random_seed(0)
    images = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    made = [[augment(image=image)["image"] for image in images] for _ in range(DRAWS)]
    return np.array(made).transpose(0, 1, 4, 2, 3)


def main(directory):
    """Run all snippets of a directory."""
    x = np.load(directory / "x.npy")
    for file in sorted(directory.glob("*.py")):
        names = {}
        exec(compile(file.read_text(encoding="utf-8"), file.name, "exec"), names)
        np.save(file.with_suffix(".npy"), views(names["augment"], x))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
