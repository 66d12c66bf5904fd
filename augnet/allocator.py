"""Memory that is freed is kept for the next step, where the C library can be told so."""

import ctypes
import sys

# Of glibc's malloc.h: from what size on memory is mapped, when it is given back, how much is taken.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> bool:
    """Let this process keep what it frees, instead of giving it back after every tensor.

    Activations of a few hundred kB are mapped anew in each step by default, and their first touch
    costs a page fault per 4 kB: up to half of a forward pass of a small network. The process stays
    as large as it ever was. Tells whether that could be arranged: elsewhere than under glibc not.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = mallopt(_MMAP_THRESHOLD, 2**30) or mallopt(_MMAP_THRESHOLD, 2**25)  # the old maximum
    return bool(kept and mallopt(_TRIM_THRESHOLD, 2**31 - 1) and mallopt(_TOP_PAD, 2**26))
