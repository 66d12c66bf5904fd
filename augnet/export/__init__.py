"""Learned words and ranges in the terms of other libraries, to paste into your own pipeline.

    model file ──► steps (word, magnitude, share) ──► a line of code per word ──► a snippet

    steps       what is taken out of a model
    libraries   how each library says each word, and in what it differs
    snippet     lines become a file

A snippet needs its library and nothing else.
"""

from augnet.export.libraries import LIBRARIES
from augnet.export.snippet import Snippet, export

__all__ = ["LIBRARIES", "Snippet", "export"]
