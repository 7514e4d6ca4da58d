"""Every mutation finds the line it breaks, and the tests that should notice it are where the lists say."""

from pathlib import Path

import pytest
from tests.mutations import cpp, ledger, run
from tests.mutations.campaign import exists
from tests.mutations.cpp_mutants import both, mutants, sample
from tests.mutations.mutants import Mutant
from tests.mutations.survivors import NO_ENTRY, SURVIVORS
from tests.mutations.tree import ROOT

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
    assert not SURVIVORS.keys() - {mutant.key for mutant in mutants(ROOT)}


def test_a_sample_has_so_many_of_each_file():
    everything, chosen = mutants(ROOT), sample(ROOT, 160, least=15)
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


def test_every_file_of_the_core_has_a_mutant_that_was_noticed():
    """New compiled code joins by `python -m tests.mutations.cpp --only its/path --least 3`, which writes the ledger."""
    present = mutants(ROOT)
    noticed = {mutant.path for mutant in ledger.live(ledger.read(), present)}
    files = {mutant.path for mutant in present}
    new = sorted(files - noticed - NO_ENTRY.keys())
    assert not new, f"try them with `python -m tests.mutations.cpp --least 3 --only {' '.join(new)}`"
    done = sorted(NO_ENTRY.keys() & noticed | NO_ENTRY.keys() - files)
    assert not done, f"they have entries, or are no files with mutants: take {done} out of NO_ENTRY in survivors.py"


def test_the_ledger_is_written_in_one_order(tmp_path):
    entries = ledger.read()
    ledger.write(dict(reversed(entries.items())), tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json").read_text() == ledger.FILE.read_text()
    assert ledger.read(tmp_path / "ledger.json") == entries
    assert not {mutant.key for mutant in entries} & SURVIVORS.keys()


def test_the_gate_draws_what_was_noticed_and_is_still_there():
    words = ("core/contact/a.hpp", "core/loops/b.hpp", "core/sim/c.hpp", "core/call.cpp")
    entries = {Mutant(path, f"x += {i};", f"x -= {i};"): "a.py::test_a" for path in words for i in range(9)}
    gone = Mutant("core/loops/b.hpp", "y += 1;", "y -= 1;")
    alive = ledger.live({**entries, gone: "a.py::test_a"}, entries)
    assert alive == entries
    draws = {tuple(ledger.drawn(alive, 8, str(seed))) for seed in range(9)}
    assert len(draws) > 1  # another seed, other mutants
    for draw in draws:
        assert len(set(draw)) == 8
        assert set(draw) <= entries.keys()
        assert sorted(mutant.path for mutant in draw) == sorted(2 * words)  # by turns
    assert ledger.drawn(alive, 8, "a") == ledger.drawn(dict(reversed(alive.items())), 8, "a")
    with pytest.raises(SystemExit, match="has 36 entries that are mutants of the present code, and 37 were asked for"):
        ledger.drawn(alive, 37, "a")


def test_a_test_that_is_missing_is_not_asked():
    assert exists("mutations/test_mutations.py::test_a_test_that_is_missing_is_not_asked", ROOT)
    for name in ("", "mutations/test_mutations.py::test_of_before", "mutations/no_file.py::test_a", "exit 2"):
        assert not exists(name, ROOT)


@pytest.mark.parametrize(
    ("failing", "status"), [(("own",), 0), (("other",), 0), ((), 1), (("own", "clean"), 1)], ids=str
)
def test_what_was_noticed_must_stay_noticed(failing, status, tmp_path, monkeypatch):
    """The test of the entry is asked first, then those of the file; that nothing fails without a mutant, last."""
    mutant = Mutant("core/call.cpp", "x += 1;", "x -= 1;")
    own = "mutations/test_mutations.py::test_a_line_holds_several_mutants"
    asked = []

    def first_failure(copy, number, tests):
        asked.append((number, tuple(tests)))
        word = "clean" if number == 0 else "own" if list(tests) == [own] else "other"
        return own if word in failing else None

    monkeypatch.setattr(cpp, "first_failure", first_failure)
    file = tmp_path / "ledger.json"
    assert cpp.tried(ROOT, [mutant], [1], 1, {mutant: own}, file) == status
    expected = [(1, (own,)), *([] if "own" in failing else [(1, tuple(cpp.tests_of(mutant.path)))])]
    assert asked == expected + [(0, (own,))] * bool(failing)
    assert ledger.read(file) == ({mutant: own} if status == 0 else {})
