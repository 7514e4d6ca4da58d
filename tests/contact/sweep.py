"""Many random contact problems.

    python -m tests.contact.sweep [how many]
    python -m tests.contact.sweep peer [how many]

The first prints those of 1 to 30 contacts that are not solved to 1e-9, the second how answers compare with clarabel's.
"""

import sys
from collections import Counter

import numpy as np
from tests.contact.convex import compare_associated, compare_coulomb
from tests.contact.problems import random_problem

import soacraft as sc


def main(count: int = 10_000) -> int:
    """Solve `count` problems of 1 to 30 contacts; the number that failed."""
    failed = 0
    for seed in range(count):
        problem = random_problem(seed, friction=2.0, laws=seed % 2 == 1)
        try:
            problem.solve(tolerance=1e-9)
        except sc.errors.ConvergenceError as error:
            failed += 1
            print(f"seed {seed}: {error}")
    print(f"{count} problems of 1 to 30 contacts: {count - failed} solved to 1e-9, {failed} not")
    return failed


def peer(count: int = 1_000) -> None:
    """Compare `count` associated problems and as many of Coulomb's with clarabel."""
    for compare in (compare_associated, compare_coulomb):
        answers = [compare(random_problem(seed, laws=seed % 2 == 1)) for seed in range(count)]
        alike = np.array([x.difference for x in answers if x.word == "agree"])
        within = ", ".join(f"{np.count_nonzero(alike <= x)} within {x:g}" for x in (1e-9, 1e-7, 1e-5, 1e-3))
        print(compare.__name__, dict(Counter(x.word for x in answers)), "of which", within)


if __name__ == "__main__":
    if sys.argv[1:2] == ["peer"]:
        peer(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
