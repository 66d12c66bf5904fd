"""Export an augmentation as code for other libraries, or the whole model as a program.

    model file ──► steps (transform, magnitude, weight) ──► a line of code per step ──► a snippet
               ──► fixed params ──► a graph for any batch size ──► ONNX or pt2

    steps       the transforms of a model, with magnitudes and weights
    libraries   the code for each transform in each library, and the differences
    snippet     code for a library
    frozen      a model with fixed params
    programs    that model as a file that runs without augnet

A snippet needs its library and nothing else; a program needs ONNX Runtime or torch.
"""

from augnet.export.libraries import LIBRARIES
from augnet.export.programs import PROGRAMS, Program, program
from augnet.export.snippet import Snippet, export

__all__ = ["LIBRARIES", "PROGRAMS", "Program", "Snippet", "export", "program"]
