"""Every public name is on one explicit list, exists, and says what it is."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import soacraft as sc
import soacraft.pycraft


@pytest.mark.parametrize("name", sc.__all__)
def test_public_name_exists_with_a_docstring(name):
    thing = getattr(sc, name)
    if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
        assert inspect.getdoc(thing), name


def test_the_list_is_complete():
    """Whatever the package gathers from its layers is on the list."""
    ours = ("analysis", "dynamics", "errors", "loops")
    helpers = {"annotations", "import_module", "Any", "TYPE_CHECKING"}
    gathered = {
        name
        for name, thing in vars(sc).items()
        if not name.startswith("_") and not (inspect.ismodule(thing) and name not in ours)
    }
    assert (gathered - helpers) | set(sc._LATER) == set(sc.__all__)


def packages() -> list[str]:
    """Every package of ours."""
    found = pkgutil.walk_packages(sc.__path__, "soacraft.")
    return ["soacraft", "soacraft.errors", "soacraft.pycraft", *(x.name for x in found if x.ispkg)]


@pytest.mark.parametrize("name", packages())
def test_a_package_shows_its_public_names_and_nothing_else(name):
    package = import_module(name)
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, each) for each in package.__all__)
    assert len(set(package.__all__)) == len(package.__all__)


def test_what_is_slow_to_import_waits():
    """`import soacraft` brings in neither scipy nor a file format's own library."""
    code = "import sys, soacraft; print([x for x in ('scipy', 'mujoco', 'yaml', 'soacraft.loops') if x in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert sc.loops.__name__ == "soacraft.loops"
    with pytest.raises(AttributeError, match="module 'soacraft' has no attribute 'nothing'"):
        sc.nothing  # noqa: B018


@pytest.mark.parametrize("name", sc.__all__)
def test_public_methods_have_docstrings(name):
    thing = getattr(sc, name)
    if not inspect.isclass(thing):
        return
    for method, what in vars(thing).items():
        if method.startswith("_") or not (inspect.isfunction(what) or isinstance(what, (property, classmethod))):
            continue
        assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"


#: Words that were in use for what another word says, and that word.
RETIRED = {"fix": "fixed", "tol": "tolerance"}


def calls() -> dict[str, inspect.Signature]:
    """Every public function, class and method with its signature."""
    found = {}
    for module in (sc, sc.dynamics, sc.loops, sc.analysis, sc.pycraft):
        for name in module.__all__:
            thing = getattr(module, name)
            parts = vars(thing).items() if inspect.isclass(thing) else ()
            methods = {f"{name}.{each}": what for each, what in parts if not each.startswith("_")}
            for title, call in {name: thing, **methods}.items():
                if inspect.isfunction(call) or (inspect.isclass(call) and call.__module__.startswith("soacraft")):
                    found[f"{module.__name__}.{title}"] = inspect.signature(call)
    return found


def test_one_word_for_one_thing():
    signatures = calls()
    assert "fixed" in signatures["soacraft.loops.Solver.assemble"].parameters
    assert "tolerance" in signatures["soacraft.Operator.is_zero"].parameters
    assert [f"{title}({word}=)" for title, x in signatures.items() for word in x.parameters if word in RETIRED] == []


def test_every_error_is_in_the_family():
    family = [x for x in vars(sc.errors).values() if inspect.isclass(x) and x.__module__ == "soacraft.errors"]
    assert sorted(x.__name__ for x in family) == sc.errors.__all__
    assert all(issubclass(x, sc.errors.SoacraftError) for x in family)
    assert issubclass(sc.errors.ModelError, ValueError)
    assert issubclass(sc.errors.StateError, ValueError)
    assert issubclass(sc.errors.SpaceError, TypeError)
    assert issubclass(sc.errors.SizeError, MemoryError)
