"""Train: one loop over epochs, and one directory that can be left at any moment and resumed.

`Loop` runs a `step(batch)`; `descend` and `update` are the only places that step an optimizer.
The digests of files are in the manifest of a directory, `manifest.json`.
`ResumableDirectory` holds the files of a job; `RandomState` keeps its random numbers apart.
`WeightAverage` averages the weights of a network while it trains; `adamw` builds its optimizer.
`choose_threads` picks as many threads as there are free cores, and `use_threads` uses them.
"""

from augnet.training.allocator import keep_freed_memory
from augnet.training.average import WeightAverage
from augnet.training.directory import DirectoryError, ResumableDirectory, fingerprint
from augnet.training.loop import Loop, NonFiniteError, Row, descend, one_cycle, update
from augnet.training.optimizer import adamw
from augnet.training.random_state import RandomState
from augnet.training.threads import choose_threads, use_threads

__all__ = [
    "DirectoryError",
    "Loop",
    "NonFiniteError",
    "RandomState",
    "ResumableDirectory",
    "Row",
    "WeightAverage",
    "adamw",
    "choose_threads",
    "descend",
    "fingerprint",
    "keep_freed_memory",
    "one_cycle",
    "update",
    "use_threads",
]
