"""Budgets that may only fall: fields that objects of `sim` change, reaches into private fields, modules that import
each other, calls of Python that a short run takes."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import soacraft as sc

SOURCE = Path(sc.__file__).parent
SIM = SOURCE / "sim"
#: Fields that a class may change after it was made.
FIELDS = 10
#: Reaches into private fields of other objects.
REACHES = 37
#: Modules of the largest set that import each other; imports for types alone are left out.
KNOT = 4
#: Calls of Python of one step of an arm of 7 dofs, in a second run.
CALLS = 145

_REACH = re.compile(r"\b(?!self\b|cls\b)\w+\._(?!replace|asdict|fields)[a-z]\w*")


def changed_fields(kind: ast.ClassDef) -> set[str]:
    """Fields that the methods of a class assign to, other than those that make it."""
    methods = [x for x in kind.body if isinstance(x, ast.FunctionDef) and x.name not in ("__init__", "__post_init__")]
    return {
        node.attr
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules and names that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{x.name}" for x in node.names)
            yield node.module
        yield from imports(node)


def knots(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of modules of which each leads to each other."""

    def reached(start: str) -> set[str]:
        seen, todo = set[str](), [start]
        while todo:
            for x in graph[todo.pop()] - seen:
                seen.add(x)
                todo.append(x)
        return seen

    ahead = {name: reached(name) for name in graph}
    return [{y for y in ahead[name] if name in ahead[y]} for name in graph]


def test_fields_that_classes_change():
    counts = {
        node.name: len(changed_fields(node))
        for path in SIM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    for name, count in counts.items():
        assert count <= FIELDS, (
            f"{name} changes {count} of its fields after it was made; {FIELDS} may. Let its state be one value that is "
            "replaced."
        )


def test_reaches_into_private_fields():
    places = {str(path): _REACH.findall(path.read_text()) for path in SIM.rglob("*.py")}
    assert sum(map(len, places.values())) <= REACHES, {path: x for path, x in places.items() if x}


def test_modules_that_import_each_other():
    names = {".".join(x.relative_to(SOURCE.parent).with_suffix("").parts): x for x in SIM.rglob("*.py")}
    graph = {name: set(imports(ast.parse(x.read_text()))) & names.keys() for name, x in names.items()}
    largest = max(knots(graph), key=len)
    assert len(largest) <= KNOT, sorted(largest)


def test_a_class_that_changes_fields_is_seen():
    text = "class A:\n def __init__(self):\n  self.a = 1\n def f(self):\n  self.b, self.c = 1, 2\n  self.a += self.d\n"
    (kind,) = ast.parse(text).body
    assert changed_fields(kind) == {"a", "b", "c"}


def test_knots_of_a_graph():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert sorted(map(sorted, knots(graph))) == [[], ["a", "b", "c"], ["a", "b", "c"], ["a", "b", "c"]]


def calls_of(run) -> int:
    """Calls of Python functions that a call makes."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("model", ["arm7"])
def test_calls_of_a_short_run(model):
    mb = sc.load(model)
    assert mb.nv == 7
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-3)
    p.run(0.001)
    p.run(0.002)
    assert calls_of(lambda: p.run(0.003)) <= CALLS
