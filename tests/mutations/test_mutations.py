"""Every mutation finds the line it breaks, and the tests that should notice it are where the lists say."""

from pathlib import Path

from tests.mutations import cpp, run
from tests.mutations.cpp_mutants import both, mutants, sample
from tests.mutations.survivors import SURVIVORS

import soacraft

SOURCE, TESTS = Path(soacraft.__file__).parent, Path(__file__).parents[1]


def test_every_mutation_changes_its_line():
    for mutation in run.ALL:
        text = (SOURCE / mutation.path).read_text()
        assert run.break_it(text, mutation) != text, mutation.title


def test_the_tests_that_are_to_notice_exist():
    """A name that is missing would end pytest with an error, which looks as if the mutant had been noticed."""
    lists = (run.FOLDERS, *run.OWN.values(), *(names for _, names in cpp.TESTS))
    assert not [name for names in lists for name in names if not (TESTS / name).exists()]
    for name in cpp.LEFT_OUT:
        path, _, test = name.partition("::")
        assert f"def {test}(" in (TESTS / path).read_text()


def test_what_no_test_can_notice_is_a_mutant():
    """One whose file or statement changed would be tried, and asked for, under another name."""
    assert not SURVIVORS.keys() - {mutant.key for mutant in mutants(run.ROOT)}


def test_a_sample_has_so_many_of_each_file():
    everything, chosen = mutants(run.ROOT), sample(run.ROOT, 160, least=15)
    for path in {mutant.path for mutant in everything}:
        own, taken = ([mutant for mutant in some if mutant.path == path] for some in (everything, chosen))
        assert min(15, len(own)) <= len(taken) == len(set(taken))
        places = {mutant.place for mutant in own}
        assert len({mutant.place for mutant in taken}) == min(len(places), len(taken))  # no statement before its turn


def test_a_line_holds_several_mutants():
    assert both("x += y;", [(3, "x -= y;"), (7, "")]) == (
        "{ if (soacraft_mutant == 3) { x -= y; } else if (soacraft_mutant == 7) {  } else { x += y; } }"
    )
    assert both("T x = a + b;", [(2, "T x = a - b;")]) == "T x = soacraft_mutant == 2 ? (a - b) : (a + b);"
    assert both("} else if (a < b) {", [(1, "} else if (!(a < b)) {"), (4, "} else if (a <= b) {")]) == (
        "} else if (soacraft_mutant == 1 ? (!(a < b)) : soacraft_mutant == 4 ? (a <= b) : (a < b)) {"
    )
