"""Differences of documents: the way from any to any other, and changes that do not fit."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.errors import ModelFileError
from soacraft.robot.changes.difference import difference, patched

NUMBER = st.one_of(st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False))
LEAF = st.one_of(st.none(), NUMBER, st.text(max_size=3))
NAMED = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"q": LEAF, "v": st.lists(LEAF, max_size=2)}),
    max_size=4, unique_by=lambda x: x["name"],
)  # fmt: skip
DOCUMENT = st.recursive(
    st.one_of(LEAF, NAMED),
    lambda x: st.one_of(st.lists(x, max_size=3), st.dictionaries(st.sampled_from("xyzw"), x, max_size=4)),
    max_leaves=8,
)


@given(DOCUMENT, DOCUMENT)
@tries(300)
def test_the_way_from_any_document_to_any_other(old, new):
    """Compared as bytes: 1, 1.0 and true differ, and so do the orders of names."""
    change = difference(old, new)
    before = msgspec.json.encode(old)
    change = None if change is None else msgspec.json.decode(msgspec.json.encode(change))
    made = old if change is None else patched(old, change)
    assert msgspec.json.encode(made) == msgspec.json.encode(new)
    assert msgspec.json.encode(old) == before
    assert difference(new, new) is None


def test_little_is_told_of_little():
    old = {"bodies": [{"name": f"b{i}", "q": [0.1 * i], "inertia": {"mass": 1.0}} for i in range(50)]}
    new = {"bodies": [dict(x) for x in old["bodies"]]}
    new["bodies"][7]["q"] = [9.0]
    assert difference(old, new) == ["{", {"bodies": ["[", None, {"b7": ["{", {"q": ["=", [9.0]]}, []]}]}, []]


@given(DOCUMENT, DOCUMENT)
@tries(200)
def test_any_other_data_is_refused_or_done(old, change):
    with suppress(ModelFileError):
        patched(old, change)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("x", "changes cannot be read: 'x' is none"),
        (["{", {"a": ["=", 1]}, []], "is no object to be changed"),
        (["[", None, {}], "is no array of objects with names"),
    ],
)
def test_what_does_not_fit_is_refused(change, text):
    with pytest.raises(ModelFileError, match=text):
        patched(3, change)


def test_orders_that_do_not_fit_and_deep_changes_are_refused():
    with pytest.raises(ModelFileError, match="they order names that are not there, or twice"):
        patched([{"name": "a"}], ["[", ["a", "a"], {}])
    with pytest.raises(ModelFileError, match="they order names that are not there, or twice"):
        patched([{"name": "a"}], ["[", ["b"], {}])
    document, deep = 1, ["=", 1]
    for _ in range(40):
        document, deep = {"a": document}, ["{", {"a": deep}, []]
    with pytest.raises(ModelFileError, match="nested too deeply"):
        patched(document, deep)
