"""Every mutation finds the line it breaks, and the tests that should notice it are where the lists say."""

from pathlib import Path

from tests.mutations import cpp, run
from tests.mutations.mutations import MUTATIONS

import soacraft

SOURCE, TESTS = Path(soacraft.__file__).parent, Path(__file__).parents[1]


def test_every_mutation_changes_its_line():
    for mutation in MUTATIONS:
        text = (SOURCE / mutation.path).read_text()
        assert run.break_it(text, mutation) != text, mutation.title


def test_the_tests_that_are_to_notice_exist():
    """A name that is missing would end pytest with an error, which looks as if the mutant had been noticed."""
    lists = (run.FOLDERS, *run.OWN.values(), *(names for _, names in cpp.TESTS))
    assert not [name for names in lists for name in names if not (TESTS / name).exists()]
    for name in cpp.LEFT_OUT:
        path, _, test = name.partition("::")
        assert f"def {test}(" in (TESTS / path).read_text()
