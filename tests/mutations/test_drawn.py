"""Mutants drawn from the syntax tree: each changes its file, reads as Python, and is known by its text."""

import ast
import random

import pytest
from tests.mutations import drawn, ledger, tree
from tests.mutations.drawn_survivors import SURVIVORS
from tests.mutations.mutants import Mutant
from tests.mutations.python_mutants import ROOMS, broken, candidates, function_of, mutants
from tests.mutations.tree import ROOT

TEXT = """
def area(a, b):
    \"\"\"The area of a rectangle, 1 by 1.\"\"\"
    if a < 0 and not b:
        raise ValueError(f"{a} < 0")
    total = 0.5 * a + min(a, b) - 1e-9
    total += a
    out.append(total)
    return -x.T if total else y[0]
"""


@pytest.fixture(scope="module")
def present():
    return mutants(ROOT)


def test_the_changes_of_a_small_file():
    pairs = {(x.statement, x.changed) for x in candidates(TEXT)}
    total, back, head = "total = 0.5 * a + min(a, b) - 1e-09", "return -x.T if total else y[0]", "if a < 0 and (not b):"
    assert pairs == {
        (head, "if not (a < 0 and (not b)):"),
        (head, "if a < 0 or not b:"),
        (head, "if a >= 0 and (not b):"),
        (head, "if a < 1 and (not b):"),
        (head, "if a < 0 and b:"),
        (total, "total = 0.5 * a + min(a, b) + 1e-09"),
        (total, "total = 0.5 * a - min(a, b) - 1e-09"),
        (total, "total = 0.5 / a + min(a, b) - 1e-09"),
        (total, "total = 1.0 * a + min(a, b) - 1e-09"),
        (total, "total = 0.5 * a + max(a, b) - 1e-09"),
        ("total += a", "pass"),
        ("total += a", "total -= a"),
        ("out.append(total)", "pass"),
        (back, "return y[0] if total else -x.T"),
        (back, "return x.T if total else y[0]"),
        (back, "return -x if total else y[0]"),
        (back, "return -x.T if total else y[1]"),
    }  # no text of an error, no docstring


def test_a_mutant_stands_in_its_file():
    mutant = Mutant("a.py", "total += a", "total -= a")
    assert broken(TEXT, mutant) == TEXT.replace("total += a", "total -= a")
    assert function_of(TEXT, mutant) == ("area",)
    with pytest.raises(ValueError, match="the statement is no longer there"):
        broken(TEXT, Mutant("a.py", "total += b", "total -= b"))


def test_the_second_of_equal_statements():
    text = "def f(x):\n    x += 1\n    x += 1\n"
    assert broken(text, Mutant("a.py", "x += 1", "x -= 1", 1)) == "def f(x):\n    x += 1\n    x -= 1\n"


def test_mutants_of_the_rooms_change_their_files(present):
    assert len(present) == len(set(present)) > 10_000
    assert {mutant.path.split("/")[2] for mutant in present} == set(ROOMS)
    for mutant in random.Random(0).sample(present, 40):
        text = (ROOT / mutant.path).read_text()
        other = broken(text, mutant)
        assert ast.dump(ast.parse(other)) != ast.dump(ast.parse(text)), mutant.title


def test_tests_of_a_mutant_exist_and_begin_with_its_own(present):
    for mutant in random.Random(1).sample(present, 20):
        names = drawn.tests_of(mutant)
        assert names, mutant.title
        assert all((ROOT / "tests" / name).is_file() for name in names)
    mutant = next(m for m in present if m.path.endswith("sim/stability.py"))
    assert drawn.tests_of(mutant)[0] == "sim/test_stability.py"


def test_what_no_test_can_notice_is_a_mutant(present):
    assert not SURVIVORS.keys() - {mutant.key for mutant in present}


def test_the_ledger_of_drawn_mutants(present):
    entries = ledger.read(drawn.FILE)
    assert len(ledger.live(entries, present)) >= 6
    assert not {mutant.key for mutant in entries} & SURVIVORS.keys()


def test_many_tests_that_use_up_their_time_are_not_one_that_never_ends(monkeypatch):
    asked = []

    def first_failure(copy, tests, settings, without):
        asked.append(list(tests))
        return ("b.py::test_b", True) if "b.py" in tests and "a.py" in tests else (ends.get(tuple(tests)), False)

    monkeypatch.setattr(tree, "_first_failure", first_failure)
    ends = {("b.py::test_b",): "b.py::test_b"}
    assert tree.failed_test(ROOT, ["a.py", "b.py", "c.py"], {}) == "b.py::test_b"  # it never ends by itself either
    ends = {("b.py", "c.py"): "c.py::test_c"}
    assert tree.failed_test(ROOT, ["a.py", "b.py", "c.py"], {}) == "c.py::test_c"
    assert asked[-3:] == [["a.py", "b.py", "c.py"], ["b.py::test_b"], ["b.py", "c.py"]]
    ends = {}
    assert tree.failed_test(ROOT, ["a.py", "b.py", "c.py"], {}) is None
