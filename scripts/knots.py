"""Counts of doors between modules: knots of imports in each package, imports inside functions, reaches into private
fields of other objects.

    python scripts/knots.py                     the counts, by package
    python scripts/knots.py --places model      the modules of the largest knot of a package, its late imports, reaches

A knot is a set of modules of one package each of which leads to every other one by imports, also those inside
functions. It is counted with the imports for types alone and without them. A reach is an attribute `x._name` where x is
not `self` or `cls` and the file itself has no such field; what is private to a file may be shared in it.
`tests/test_doors.py` has a budget for each, which may only fall.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/soacraft"

#: Private names that are the documented ones of named tuples.
DOCUMENTED = frozenset({"_replace", "_asdict", "_fields", "_make"})


class Import(NamedTuple):
    """One import of a module: the name of what is imported, its line, and where it is."""

    target: str
    line: int
    late: bool
    types: bool


class Counts(NamedTuple):
    """Counts of one package: modules of its largest knot with all imports and without those for types, imports inside
    functions, of them those without a reason, and reaches."""

    knot: int
    untyped: int
    late: int
    bare: int
    reaches: int


def module_name(path: Path) -> str:
    """Name of a module from its path; a package has the name of its folder."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Paths of all modules, by name."""
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports(tree: ast.AST) -> Iterator[Import]:
    """Imports of a module, of names as `module.name`."""

    def walk(node: ast.AST, late: bool, types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            typed = types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
            if isinstance(child, ast.ImportFrom) and child.module:
                yield from (Import(f"{child.module}.{x.name}", child.lineno, late, types) for x in child.names)
            elif isinstance(child, ast.Import):
                yield from (Import(x.name, child.lineno, late, types) for x in child.names)
            yield from walk(child, inside, typed)

    return walk(tree, False, False)


def resolved(target: str, names: dict[str, Path]) -> str:
    """Module that an import leads to: what is named, or what has that name in it."""
    return target if target in names else target.rpartition(".")[0]


def graph(package: str, types: bool = True) -> dict[str, set[str]]:
    """Imports between the modules of a package, with or without those for types alone."""
    inside = {x: path for x, path in modules().items() if x.split(".")[1:2] == [package]}
    edges: dict[str, set[str]] = {}
    for name, path in inside.items():
        found = [x for x in imports(parsed(path)) if types or not x.types]
        targets = {resolved(x.target, modules()) for x in found}
        edges[name] = (targets & inside.keys()) - {name}
    return edges


@cache
def parsed(path: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text())


def knots(edges: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected sets of a graph, the largest first (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    sets: list[set[str]] = []

    def visit(x: str) -> None:
        number[x] = low[x] = len(number)
        path.append(x)
        for y in sorted(edges[x]):
            if y not in number:
                visit(y)
                low[x] = min(low[x], low[y])
            elif y in path:
                low[x] = min(low[x], number[y])
        if low[x] == number[x]:
            start = path.index(x)
            sets.append(set(path[start:]))
            del path[start:]

    for x in sorted(edges):
        if x not in number:
            visit(x)
    return sorted(sets, key=len, reverse=True)


def late_imports(path: Path) -> list[tuple[int, bool]]:
    """Lines of imports inside functions, one for each statement, and whether a comment there gives the reason."""
    lines = path.read_text().splitlines()
    numbers = sorted({x.line for x in imports(parsed(path)) if x.late and not x.types})
    return [(n, _has_reason(lines, n, set(numbers))) for n in numbers]


def _has_reason(lines: list[str], number: int, late: set[int]) -> bool:
    """True if the import, or the first of a group of them, has a comment on its line or above."""
    if "#" in lines[number - 1]:
        return True
    above = number - 1
    while above in late:
        if "#" in lines[above - 1]:
            return True
        above -= 1
    return lines[above - 1].lstrip().startswith("#")


def private_names(tree: ast.Module) -> set[str]:
    """Private fields and methods of the classes of a file, and its private functions and variables."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else set()
    return {x for x in names if x.startswith("_")}


def reaches(path: Path) -> list[tuple[int, str]]:
    """Lines of reads and changes of private fields of objects of other files, with the field."""
    own = private_names(parsed(path))
    return [
        (node.lineno, ast.unparse(node))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in DOCUMENTED | own
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and not (isinstance(node.value, ast.Call) and ast.unparse(node.value) in ("super()", "type(self)"))
    ]


def packages() -> list[str]:
    """Packages right below the root, and "" for the modules there."""
    return ["", *sorted({name.split(".")[1] for name in modules() if len(name.split(".")) > 2})]


def count(package: str) -> Counts:
    """Counts of a package."""
    late = [x for path in paths(package) for x in late_imports(path)]
    return Counts(
        knot=len(knots(graph(package))[0]) if package else 1,
        untyped=len(knots(graph(package, types=False))[0]) if package else 1,
        late=len(late),
        bare=sum(not reason for _, reason in late),
        reaches=sum(len(reaches(path)) for path in paths(package)),
    )


def paths(package: str) -> list[Path]:
    """Files of a package."""
    folder = SOURCE / package
    return sorted(folder.rglob("*.py") if package else folder.glob("*.py"))


def print_counts() -> None:
    """Print the counts of all packages."""
    print(f"{'package':12} {'knot':>5} {'untyped':>8} {'late':>5} {'bare':>5} {'reaches':>8}")
    total = [0, 0, 0]
    for name in packages():
        c = count(name)
        print(f"{name or '(top)':12} {c.knot:5} {c.untyped:8} {c.late:5} {c.bare:5} {c.reaches:8}")
        total = [x + y for x, y in zip(total, (c.late, c.bare, c.reaches), strict=True)]
    print(f"{'all':12} {'':5} {'':8} {total[0]:5} {total[1]:5} {total[2]:8}")
    print("late: imports inside functions; bare: without a comment; reaches: into private fields of other files")


def print_places(package: str) -> None:
    """Print the modules of the largest knots of a package, and its late imports and reaches by file."""
    edges = graph(package)
    for knot in knots(edges):
        if len(knot) < 2:
            break
        print(f"knot of {len(knot)}")
        for name in sorted(knot):
            targets = sorted(x.removeprefix(f"soacraft.{package}.") for x in edges[name] & knot)
            print(f"    {name} -> {', '.join(targets)}")
    for path in paths(package):
        shown = path.relative_to(ROOT)
        for line, reason in late_imports(path):
            print(f"{shown}:{line} import inside a function{'' if reason else ', without a reason'}")
        for line, text in reaches(path):
            print(f"{shown}:{line} {text}")


def main() -> None:
    """Entry of the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", metavar="PACKAGE", help="list the places of one package")
    chosen = parser.parse_args()
    if chosen.places is None:
        print_counts()
    else:
        print_places(chosen.places)


if __name__ == "__main__":
    main()
