"""Snippets for libraries that cannot be installed with augnet run in environments of their own.

These are made once, or are named by AUGNET_TORCHVISION_PYTHON and AUGNET_ALBUMENTATIONS_PYTHON.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from export_cases import LAYERS, PADDED, alike, alone, known, module, smooth
from other_environments import interpreter

from augnet import identity
from augnet.export import export
from augnet.transforms import Sharpness

CASES = [
    (library, name)
    for library in ("torchvision", "albumentations")
    for name in (*known(library), *LAYERS, "identity")
]
CASES += [("albumentations", name) for name in PADDED]
STRONG = Sharpness(2.0)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]


def augmentation(library, name):
    """Return the augmentation of a case."""
    if name == "identity":
        return identity
    if (library, name) == ("albumentations", "sharpness"):
        return module([STRONG], magnitude=1.0)
    return (LAYERS | PADDED).get(name) or alone(name)


def reference(library, name):
    """Return what gives the same views: the augmentation, or what the snippet says it does."""
    documented = (library, name) == ("albumentations", "sharpness")
    return sharpened if documented else augmentation(library, name)


def sharpened(x):
    """Sharpen half of the samples, as albumentations does."""
    strength = STRONG.limit * torch.rand(len(x)) * (torch.rand(len(x)) < 0.5)
    return STRONG.transform(x, strength)


@pytest.fixture(scope="session")
def theirs(tmp_path_factory):
    """Run all snippets of a library in its environment, once."""
    directories = {}

    def views(library, name):
        python = interpreter(library)
        if library not in directories:
            directories[library] = directory = tmp_path_factory.mktemp(library)
            np.save(directory / "x.npy", smooth().numpy())
            for of, case in CASES:
                if of == library:
                    text = export(augmentation(library, case), library).text
                    (directory / f"{case}.py").write_text(text, encoding="utf-8")
            script = Path(__file__).parent / "run_snippets.py"
            subprocess.run([python, script, directory], check=True)
        return torch.from_numpy(np.load(directories[library] / f"{name}.npy"))

    return views


@pytest.mark.parametrize(("library", "name"), CASES)
def test_snippets_give_the_same_views(library, name, theirs):
    x = smooth()
    views = theirs(library, name)
    assert (views.dtype, views.shape[1:]) == (x.dtype, x.shape)
    if name == "identity":
        assert views.equal(x.expand_as(views))
    else:
        alike(reference(library, name), views, x)
