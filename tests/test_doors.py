"""Budgets for the doors between modules that `scripts/knots.py` counts. They may only fall."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Modules of the largest knot of imports, with the imports for types and without them; of packages that are not listed
#: four at most.
KNOTS = {"sim": (35, 4)}
KNOT = 4

#: Imports inside functions, and those of them without a comment that gives the reason.
LATE, BARE = 89, 42

#: Reaches into private fields of objects of other files, by package; none in packages that are not listed.
REACHES = {
    "": 1,
    "analysis": 1, "cli": 2, "contact": 7, "dynamics": 4, "files": 24, "health": 5, "kinematics": 1, "loops": 55,
    "model": 312, "ops": 2, "robot": 47, "sim": 27, "view": 1,
}  # fmt: skip


def load_script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("knots", ROOT / "scripts/knots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


doors = load_script()


@pytest.fixture(scope="module")
def counts():
    return {name: doors.count(name) for name in doors.packages()}


@pytest.mark.parametrize("name", [x for x in doors.packages() if x])
def test_modules_of_a_package_have_an_order(counts, name):
    c = counts[name]
    for number, most, how in zip((c.knot, c.untyped), KNOTS.get(name, (KNOT, KNOT)), ("with", "without"), strict=True):
        assert number <= most, (
            f"{number} modules of {name} import each other, {how} imports for types; {most} may. Move what two of them "
            "need into a file below both, or let the lower one name a protocol. "
            f"`python scripts/knots.py --places {name}` lists them."
        )


def test_imports_inside_functions_are_few_and_have_a_reason(counts):
    late, bare = (sum(getattr(c, x) for c in counts.values()) for x in ("late", "bare"))
    assert late <= LATE, f"{late} imports are inside functions; {LATE} may. Import at the top of the module."
    assert bare <= BARE, (
        f"{bare} imports inside functions have no comment on their line or above; {BARE} may. Say why: an optional "
        "dependency, or the cost of loading."
    )


@pytest.mark.parametrize("name", doors.packages())
def test_private_fields_are_those_of_the_file(counts, name):
    reaches = counts[name].reaches
    assert reaches <= REACHES.get(name, 0), (
        f"{reaches} places of {name or 'the top'} reach into private fields of objects of other files; "
        f"{REACHES.get(name, 0)} may. `python scripts/knots.py --places {name}` lists them."
    )


def test_knots_of_a_graph():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}
    assert doors.knots(edges) == [{"a", "b", "c"}, {"d", "e"}, {"f"}]


TEXT = """
import a.b
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from a import c
def f():
    # loaded when it is called: it is large
    from a import d
    import e
    class g:
        from a import h
"""


def test_imports_of_a_module():
    found = [(x.target, x.late, x.types) for x in doors.imports(ast.parse(TEXT))]
    assert found == [
        ("a.b", False, False),
        ("typing.TYPE_CHECKING", False, False),
        ("a.c", False, True),
        ("a.d", True, False),
        ("e", True, False),
        ("a.h", True, False),
    ]


def test_late_imports_and_their_reasons(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(TEXT)
    assert doors.late_imports(path) == [(8, True), (9, True), (11, False)]


def test_reaches_of_a_file(tmp_path):
    path = tmp_path / "reaches.py"
    path.write_text("class A:\n  def f(self, b):\n    self._x = b._y\n    return b._x + b._replace(c=1).z + self._q\n")
    assert doors.reaches(path) == [(3, "b._y")]
