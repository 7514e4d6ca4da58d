"""Budgets for habits of names and prose that `scripts/words.py` counts. They may only fall."""

from __future__ import annotations

import ast
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Docstrings with a forbidden opening, by package; none in packages that are not listed.
OPENINGS: dict[str, int] = {}

#: Assignments to names that do not say what they hold: outside of `sim`, and in it.
NAMES: dict[str, tuple[int, int]] = {
    "found": (251, 0),
    "told": (18, 0),
    "given": (42, 2),
    "made": (51, 1),
    "known": (54, 0),
    "own": (54, 0),
    "left": (59, 0),
    "kept": (26, 1),
    "mine": (7, 0),
    "whole": (18, 0),
    "where": (77, 0),
}

#: Phrases that a reader has to translate: in the source outside of `sim`, in `sim`, in docs, in core.
PHRASES: dict[str, tuple[int, int, int, int]] = {
    "is told": (3, 0, 3, 6),
    "as told": (0, 0, 1, 0),
    "stands": (25, 0, 16, 18),
    "hangs": (2, 0, 5, 15),
    "anew": (5, 0, 6, 3),
    "besides": (23, 0, 7, 13),
    "what is left": (1, 0, 2, 38),
    "of its own": (14, 0, 13, 35),
}

#: What to write in place of a phrase.
INSTEAD = {
    "is told": "gets, is given by, has a prescribed ...",
    "as told": "as prescribed, as in the arguments",
    "stands": "means, represents, is at rest, is in contact",
    "hangs": "is attached to, is outboard of; the parent is ...",
    "anew": "again, from the start",
    "besides": "in addition to, other than, also",
    "what is left": "the residual, the remainder, the remaining ...",
    "of its own": "separate, another; or leave it out",
}


def load_script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("words", ROOT / "scripts/words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


words = load_script()


@pytest.fixture(scope="module")
def counts():
    return words.count()


@pytest.fixture(scope="module")
def pages():
    """Counts of phrases in docs and in core."""
    return words.count_phrases(ROOT / "docs", ".md"), words.count_phrases(ROOT / "core", ".hpp", ".cpp")


def split(counts, kind, habit):
    """Counts of a habit outside of `sim`, and in it."""
    return sum(c[kind, habit] for name, c in counts.items() if name != "sim"), counts["sim"][kind, habit]


def test_docstrings_begin_with_a_noun_or_a_verb(counts):
    for name, c in counts.items():
        number = sum(c["openings", kind] for kind in words.DOCSTRINGS)
        assert number <= OPENINGS.get(name, 0), (
            f"{number} docstrings or comments of {name} begin with What, Whether, How, Where, Those, Of or the like; "
            f"{OPENINGS.get(name, 0)} may. Begin with a noun or a verb ('True if ...', 'Number of ...', 'Refuse ...'). "
            f"`python scripts/words.py --places {name}` lists them."
        )


@pytest.mark.parametrize("name", words.NAMES)
def test_variables_are_named_by_what_they_hold(counts, name):
    numbers, places = split(counts, "names", name), ("outside of sim", "in sim")
    for number, budget, place in zip(numbers, NAMES[name], places, strict=True):
        assert number <= budget, (
            f"{name!r} is assigned {number} times {place}; {budget} are the most. Name the variable by its content, "
            "such as pose, residual, prescribed, tolerance, remaining_rows."
        )


@pytest.mark.parametrize("phrase", words.PHRASES)
def test_prose_has_the_words_of_the_field(counts, pages, phrase):
    numbers = (*split(counts, "phrases", phrase), *(page[phrase] for page in pages))
    places = ("in src outside of sim", "in src/soacraft/sim", "in docs", "in core")
    for number, budget, place in zip(numbers, PHRASES[phrase], places, strict=True):
        assert number <= budget, (
            f"{phrase!r} occurs {number} times {place}; {budget} are the most. Write: {INSTEAD[phrase]}."
        )


@pytest.mark.parametrize(
    "docstring",
    ["What a hinge is.", "Whether it moves.", "The same at q.", "By mass.", "\n  Of a tree.", "Those of q."],
)
def test_a_forbidden_opening_is_seen(docstring):
    assert words.forbidden(docstring)


@pytest.mark.parametrize(
    "docstring",
    ["True if it moves.", "Whatever.", "by mass", "Byte order.", "The samples.", "q at t.", "`What` is a class."],
)
def test_other_openings_pass(docstring):
    assert not words.forbidden(docstring)


def test_habits_of_a_text():
    text = '"""What it is."""\ndef f(given):\n\n    """It stands\n    besides."""\n    found = own, left = given, 1\n'
    assert list(words.habits(text)) == [
        ("openings", "modules", 1),
        ("openings", "others", 4),
        ("names", "found", 6),
        ("names", "own", 6),
        ("names", "left", 6),
        ("phrases", "stands", 4),
        ("phrases", "besides", 5),
    ]


def test_docstrings_of_fields_are_seen():
    tree = ast.parse(
        '"""Module."""\nSIZE = 1\n"""What it is."""\nclass A:\n    """A."""\n    x: int\n    """Of A."""\n'
    )
    assert list(words.fields(tree)) == [(3, "What it is."), (7, "Of A.")]


def test_comments_above_code_are_seen():
    text = "#: What it is.\nA = 1  # What\n\n    # Rows\n    # Of a tree.\n"
    assert list(words.comments(text)) == [(1, "What it is."), (4, "Rows")]


def test_a_phrase_may_go_over_the_end_of_a_line():
    assert list(words.phrases("It is\n    told so; what is  left")) == [("is told", 1), ("what is left", 2)]


def test_assignments_are_counted_and_uses_are_not():
    tree = ast.parse("for own in x: y = own\nwith a as left: pass\n(kept, [mine]) = found()\n")
    assert [name for name, _ in words.assigned(tree) if name in words.NAMES] == ["own", "left", "kept", "mine"]


def test_packages_of_files():
    assert words.package(words.SOURCE / "sim/runs/run.py") == "sim"
    assert words.package(words.SOURCE / "errors.py") == "top"


def test_a_table_has_rows_columns_and_sums():
    rows = {"a": Counter({("names", "found"): 2}), "b": Counter({("names", "own"): 1})}
    assert words.table("names", ("found", "own"), rows).splitlines() == [
        "names  found  own  sum",
        "a          2    0    2",
        "b          0    1    1",
        "all        2    1    3",
    ]
