"""Every public name is on one explicit list, exists, and says what it is."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import soacraft as sc
import soacraft.pycraft


@pytest.mark.parametrize("name", sc.__all__)
def test_public_name_exists_with_a_docstring(name):
    thing = getattr(sc, name)
    if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
        assert inspect.getdoc(thing), name


def imported_for_types() -> dict[str, str]:
    """The names that `soacraft/__init__.py` shows to type checkers, with the modules it takes them from."""
    tree = ast.parse(Path(sc.__file__).read_text())
    block = next(x for x in tree.body if isinstance(x, ast.If))
    taken = [(name.asname or name.name, x.module) for x in block.body for name in x.names]
    assert len(dict(taken)) == len(taken)
    return dict(taken)


def test_the_list_is_complete():
    """What type checkers see is what is imported on demand, and is on the list."""
    homes = {name: f"soacraft.{home}".rstrip(".") for name, home in sc._HOME.items()}
    assert imported_for_types() == homes
    assert sorted(sc._HOME) == sorted(sc.__all__)
    assert sum(len(names.split()) for names in sc._HOMES.values()) == len(sc._HOME)


def packages() -> list[str]:
    """Every package of ours."""
    found = pkgutil.walk_packages(sc.__path__, "soacraft.")
    return ["soacraft", "soacraft.errors", *(x.name for x in found if x.ispkg)]


@pytest.mark.parametrize("name", packages())
def test_a_package_shows_its_public_names_and_nothing_else(name):
    package = import_module(name)
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, each) for each in package.__all__)
    assert len(set(package.__all__)) == len(package.__all__)


def modules_after(code: str) -> set[str]:
    """What a new interpreter has imported after some code, besides numpy and what it had at its start."""
    before, after = "import sys, numpy; before = {*sys.modules}", "print(*{*sys.modules} - before)"
    program = f"{before}; import soacraft as sc; {code}; {after}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


#: What takes long to import, or is for one kind of file or one kind of question.
HEAVY = {
    "IPython", "PIL", "asyncio", "decimal", "email", "fractions", "http", "importlib.resources", "json", "matplotlib",
    "msgspec", "mujoco", "numpy.ma", "numpy.random", "pinocchio", "rich", "scipy", "socket", "sympy", "tempfile",
    "trimesh", "urllib", "xml", "yaml",
}  # fmt: skip


def test_importing_soacraft_imports_nothing_else_of_it():
    assert {x for x in modules_after("pass") if not x.startswith("importlib.")} == {"soacraft"}


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("pass", set()),
        ("sc.Multibody('arm')", set()),
        ("sc.load('arm7')", set()),
        ("mb = sc.load('arm7'); sc.dynamics.mass_matrix(mb, mb.q)", set()),
        ("sc.operators(sc.load('arm7'), 'H phi')", {"decimal", "fractions"}),
        ("sc.view", {"decimal", "fractions"}),
        ("sc.view.draw(sc.load('arm7')).svg()", {"decimal", "fractions"}),
        ("sc.load('arm7')._repr_html_()", set()),
        ("sc.load('panda')", {"decimal", "importlib.resources", "json", "msgspec", "tempfile", "xml"}),
    ],
)
def test_what_is_slow_to_import_waits_until_it_is_used(code, used):
    """Neither `import soacraft` nor plain work with models brings in what only some of it needs."""
    assert HEAVY & modules_after(code) <= used


def test_a_layer_is_an_attribute_without_an_import_of_its_own():
    assert {f"soacraft.{layer}" for layer in sc._LAYERS} <= modules_after("; ".join(f"sc.{x}" for x in sc._LAYERS))


def test_names_are_imported_once_and_unknown_ones_refused():
    code = "assert 'Pin' not in vars(sc); pin = sc.Pin; assert vars(sc)['Pin'] is pin is sc.Pin"
    assert "soacraft.model.hinges" in modules_after(code)
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
    for module in (sc, sc.dynamics, sc.loops, sc.robot, sc.sim, sc.analysis, sc.view, sc.pycraft):
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
