"""What was learned, to take away: transforms for other libraries, or the whole model as a program.

    model file ──► steps (transform, magnitude, share) ──► a line of code per transform ──► a snippet
               ──► its dice rolled once ──► a graph with a free batch size ──► ONNX or pt2

    steps       what is taken out of a model
    libraries   how each library says each transform, and in what it differs
    snippet     lines become a file
    frozen      a model whose dice have been rolled
    programs    that model as a file that runs without augnet

A snippet needs its library and nothing else; a program needs ONNX Runtime or torch.
"""

from augnet.export.libraries import LIBRARIES
from augnet.export.programs import PROGRAMS, Program, program
from augnet.export.snippet import Snippet, export

__all__ = ["LIBRARIES", "PROGRAMS", "Program", "Snippet", "export", "program"]
