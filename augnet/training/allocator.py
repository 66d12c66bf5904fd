"""Keep freed memory in the process, where the C library allows it."""

import ctypes
import sys

# Options of mallopt, from glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> bool:
    """Tell glibc not to return freed memory to the system; return whether that worked.

    By default, glibc maps activations of a few hundred kB anew in each step, and the first touch of
    each 4 kB costs a page fault: up to half of a forward pass of a small network. The process then
    keeps the most memory it ever used. Without glibc nothing changes.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    # Older versions of glibc accept at most 2**25.
    mapped = mallopt(_MMAP_THRESHOLD, 2**30) or mallopt(_MMAP_THRESHOLD, 2**25)
    return bool(mapped and mallopt(_TRIM_THRESHOLD, 2**31 - 1) and mallopt(_TOP_PAD, 2**26))
