"""Many random contact problems: python -m tests.contact.sweep [how many]. Prints those that are not solved to 1e-9."""

import sys

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


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
