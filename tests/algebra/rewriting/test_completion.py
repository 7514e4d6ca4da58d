"""Completion: systems that decide equality, derived rules that follow from their parents, budgets that hold."""

from itertools import product

import pytest

from soacraft.algebra.rewriting.completion import Budget, Contradiction, OutOfBudget, Relation, complete
from soacraft.algebra.rewriting.polynomial import Alphabet, Polynomial


def relation(left, right="", name=""):
    return Relation(name or left, "given", Polynomial.of(*left) - Polynomial.of(*right))


def irreducible(system, letters, longest):
    """The words that no rule rewrites."""
    every = [word for n in range(longest + 1) for word in product(letters, repeat=n)]
    return [word for word in every if system.match(word) is None]


@pytest.mark.parametrize(
    ("relations", "order"),
    [
        ([("xx", ""), ("yyy", ""), ("xyxy", "")], 6),  # the symmetric group of three
        ([("xx", ""), ("yyy", ""), ("xyxyxyxy", "")], 24),  # of four
        ([("xxxx", ""), ("yy", "xx"), ("yxyyyx", "xx")], 8),  # the quaternions
    ],
)
def test_finite_groups_have_as_many_normal_forms_as_elements(relations, order):
    found = complete(Alphabet(), [relation(*r) for r in relations], Budget(5.0))
    assert found.confluent
    assert len(irreducible(found, "xy", 9)) == order


def test_sums_are_completed_too():
    """The Weyl algebra: d x = x d + 1 leaves the words x...x d...d."""
    zero = Polynomial.of("d", "x") - Polynomial.of("x", "d") - Polynomial.of()
    found = complete(Alphabet(order=("x", "d")), [Relation("Weyl", "", zero)], Budget(5.0))
    assert found.confluent
    d, x = Polynomial.of("d"), Polynomial.of("x")
    assert repr(found.reduce(d * x * x * x)) == "3*x*x + x*x*x*d"


def replay(rule, system):
    """Derive a rule from its parents alone."""
    first, *rest = rule.parents
    if not rule.overlap:
        start = first.zero
    else:
        second, *rest = rest
        before, after = rule.overlap[: len(rule.overlap) - len(second.left)], rule.overlap[len(first.left) :]
        start = first.right.between((), after) - second.right.between(before, ())
    alone = type(system)(system.alphabet)
    for parent in dict.fromkeys([*rest, *rule.parents[: 2 if rule.overlap else 0]]):
        alone.add(parent)
    return alone.reduce(start)


def test_derived_rules_follow_from_their_parents():
    given = [relation("xx", "", "square"), relation("yyy", "", "cube"), relation("xyxy", "", "turn")]
    found = complete(Alphabet(), given, Budget(5.0))
    derived = [rule for rule in found.rules if rule.derived]
    assert derived
    for rule in derived:
        assert replay(rule, found) in (rule.zero, rule.zero.scaled(-1)), rule
        sources = [r.name for r in rule.ancestry() if not r.derived]
        assert set(sources) <= {"square", "cube", "turn"}
        assert rule.ancestry()[-1] is rule


def test_steps_end_where_reduction_ends():
    found = complete(Alphabet(), [relation("xx"), relation("yyy"), relation("xyxy")], Budget(5.0))
    p = Polynomial.of(*"yxyyxxyxy") + Polynomial.of(*"xyxyx")
    last = p
    for rule, q in found.steps(p, Budget(5.0)):
        assert rule in found.rules
        last = q
    assert last == found.reduce(p)


def test_a_system_can_be_extended():
    start = complete(Alphabet(), [relation("xx"), relation("yyy")], Budget(5.0))
    found = complete(Alphabet(), [relation("xyxy")], Budget(5.0), start)
    assert found.confluent
    assert len(irreducible(found, "xy", 9)) == 6
    assert len(start.rules) == 2


def test_what_does_not_end_is_cut_short():
    """Braid relations with these letters have no finite system: the rules found are still true."""
    endless = complete(Alphabet(), [relation("xyx", "yxy")], Budget(5.0), limit=10)
    assert not endless.confluent
    assert len(endless.rules) <= 10
    p = Polynomial.of(*"xyxyx")
    with pytest.raises(OutOfBudget, match=r"^more than 1 terms$"):
        endless.reduce(p + Polynomial.of(*"yx"), Budget(5.0, terms=1))
    with pytest.raises(OutOfBudget, match=r"^more than 1e-09 s$"):
        endless.reduce(p, Budget(1e-9))


def test_contradictions_are_not_silent():
    with pytest.raises(Contradiction, match=r"^the relations contradict each other$"):
        complete(Alphabet(), [relation("x"), Relation("zero", "", Polynomial.of("x"))], Budget(5.0))
