"""Split subjects into train, valid and test."""

from collections.abc import Sequence

import numpy as np

NIGHTS = (24, 24, 12)  # for training, validation and test in the paper
FOLDS = 5


def fold(
    subjects: Sequence[str], seed: int, nights: tuple[int, int, int] = NIGHTS
) -> tuple[list[str], list[str], list[str]]:
    """Return the subjects of train, valid and test for fold `seed`; every five folds are a round.

    Folds of one round have different test subjects. If there are fewer subjects than `nights` asks
    for, the parts keep their proportions.
    """
    count = len(subjects)
    if count < FOLDS or min(nights) < 1:
        raise ValueError(
            f"{FOLDS} folds need {FOLDS} subjects or more, and a part one or more; got {count} "
            f"subjects for {nights} nights"
        )
    round_, number = divmod(seed, FOLDS)
    order = np.random.default_rng(round_).permutation(count)
    test = order[len(order) * number // FOLDS : len(order) * (number + 1) // FOLDS]
    rest = np.random.default_rng([round_, number]).permutation(np.setdiff1d(order, test))
    train_size, valid_size, test_size = nights
    if train_size + valid_size > len(rest):
        valid_size = max(1, len(rest) * valid_size // (train_size + valid_size))
        train_size = len(rest) - valid_size
    names = sorted(subjects)

    def named(places: np.ndarray) -> list[str]:
        return [names[place] for place in places]

    valid = rest[train_size : train_size + valid_size]
    return named(rest[:train_size]), named(valid), named(test[:test_size])
