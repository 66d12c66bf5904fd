"""Export an augmentation as code for other libraries, or the whole model as a program.

    model file ──► measured ranges ──► layers of steps (transform, magnitude, weight) ──► a snippet
               ──► fixed params ──► a graph for any batch size ──► ONNX or pt2

    measured    the measured ranges of a model as an augmentation, and how its net differs
    steps       the layers of a model: transforms, with magnitudes and weights, to draw from
    libraries   the code for each transform and for draws in each library, and the differences
    snippet     code for a library
    frozen      a model with fixed params
    programs    that model as a file that runs without augnet

A snippet needs its library and nothing else; a program needs ONNX Runtime or torch.
"""

from augnet.export.libraries import LIBRARIES
from augnet.export.measured import MeasuredAugment, measured
from augnet.export.programs import PROGRAMS, Program, program
from augnet.export.snippet import Snippet, export

__all__ = [
    "LIBRARIES",
    "PROGRAMS",
    "MeasuredAugment",
    "Program",
    "Snippet",
    "export",
    "measured",
    "program",
]
