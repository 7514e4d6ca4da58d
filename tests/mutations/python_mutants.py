"""Mutants of the Python code: one operator, condition, number or call changed, drawn from the syntax tree.

    a < b    ->  a >= b          x + y  ->  x - y       -x         ->  x          if a:   ->  if not a:
    a and b  ->  a or b          x * y  ->  x / y       x.T        ->  x          f(x)    ->  pass
    x[0]     ->  x[1]            0.5    ->  1.0         min(x, y)  ->  max(x, y)  x += y  ->  x -= y

A statement is known by its file and its text as Python prints it, not by a line number, so that edits elsewhere leave
it as it is. Of compound statements only the head counts. Texts (of errors, warnings, reprs), annotations and decorators
are left out: tests of texts see those.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.mutations.mutants import Mutant

#: The folders of `src/soacraft` that mutants are drawn from.
ROOMS = ("sim", "robot", "loops", "kinematics", "flexible", "files", "view")
SOURCE = "src/soacraft"

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}  # fmt: skip
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
          "argmin": "argmax", "argmax": "argmin", "sin": "cos", "cos": "sin", "floor": "ceil",
          "ceil": "floor"}  # fmt: skip
#: Functions that write texts, and calls that do.
_TEXTS = ("__repr__", "__str__", "_repr_html_", "_repr_latex_", "_repr_pretty_", "_repr_mimebundle_", "__rich__")
_TELLS = ("warn", "print", "debug", "info", "cast", "TypeVar", "field", "overload", "NamedTuple")
#: A float outside of these is a tolerance or a unit; twice of it is seldom another answer.
_LEAST, _MOST = 1e-3, 1e3


class Candidate(NamedTuple):
    """A mutant, and the bytes of the file that it replaces."""

    statement: str
    changed: str
    nth: int
    start: int
    end: int
    text: str


def mutants(root: Path) -> list[Mutant]:
    """All mutants of the rooms, in an order of their own that mixes the files."""
    files = (path for room in ROOMS for path in sorted((root / SOURCE / room).rglob("*.py")))
    drawn = [
        Mutant(path.relative_to(root).as_posix(), c.statement, c.changed, c.nth)
        for path in files
        for c in candidates(path.read_text())
    ]
    return sorted(dict.fromkeys(drawn), key=lambda mutant: mutant.rank)


def broken(text: str, mutant: Mutant) -> str:
    """The text of a file with the mutant in it."""
    wanted = mutant.statement, mutant.changed, mutant.nth
    for candidate in candidates(text):
        if (candidate.statement, candidate.changed, candidate.nth) == wanted:
            raw = text.encode()
            return (raw[: candidate.start] + candidate.text.encode() + raw[candidate.end :]).decode()
    raise ValueError(f"{mutant.title}: the statement is no longer there")


def function_of(text: str, mutant: Mutant) -> tuple[str, ...]:
    """Names of the function and the class that hold the mutant, inmost first."""
    wanted = mutant.statement, mutant.changed, mutant.nth
    start = next(c.start for c in candidates(text) if (c.statement, c.changed, c.nth) == wanted)
    line = text.encode()[:start].count(b"\n") + 1
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    holders = [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds) and n.lineno <= line <= (n.end_lineno or 0)]
    return tuple(n.name for n in sorted(holders, key=lambda n: -n.lineno))


def candidates(text: str) -> Iterator[Candidate]:
    """Every change of every statement of a file."""
    lines = [0]
    for line in text.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset

    seen = Counter[str]()
    for statement in _statements(ast.parse(text)):
        head = _head(statement)
        nth = seen[head]
        seen[head] += 1
        if _removable(statement):
            yield Candidate(head, "pass", nth, *span(statement), "pass")
        if isinstance(statement, ast.AugAssign) and type(statement.op) in _ARITHMETIC:
            before, statement.op = statement.op, _ARITHMETIC[type(statement.op)]()
            yield Candidate(head, _head(statement), nth, *span(statement), ast.unparse(statement))
            statement.op = before
        if isinstance(statement, ast.If) and not isinstance(statement.test, ast.Compare | ast.UnaryOp):
            before_test = statement.test
            statement.test = ast.UnaryOp(ast.Not(), before_test)
            yield Candidate(head, _head(statement), nth, *span(before_test), f"(not ({ast.unparse(before_test)}))")
            statement.test = before_test
        for owner, field, place, node in _expressions(statement):
            for other in _changes(node):
                _put(owner, field, place, other)
                yield Candidate(head, _head(statement), nth, *span(node), f"({ast.unparse(other)})")
                _put(owner, field, place, node)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Statements of functions and methods whose changes a test could see, from the top."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.name in _TEXTS:
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.stmt) and not isinstance(child, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            inside_function = not isinstance(node, ast.Module | ast.ClassDef)
            if inside_function and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield child
            yield from _statements(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _statements(child)


def _head(statement: ast.stmt) -> str:
    """The text of a statement; of a compound one, its first line without what is inside."""
    if not hasattr(statement, "body"):
        return ast.unparse(statement)
    inside = statement.body
    statement.body = [ast.Pass()]
    text = ast.unparse(statement).split("\n", maxsplit=1)[0]
    statement.body = inside
    return text


def _removable(statement: ast.stmt) -> bool:
    """True for a call that is a statement, and for x += y."""
    if isinstance(statement, ast.AugAssign):
        return True
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    return not _tells(statement.value) and "super()" not in ast.unparse(statement.value.func)


def _tells(call: ast.Call) -> bool:
    """True for a call that makes a text or an error."""
    name = ast.unparse(call.func).rpartition(".")[2]
    return name in _TELLS or name.endswith(("Error", "Warning"))


Place = tuple[ast.AST, str, int | None, ast.expr]


def _expressions(owner: ast.AST) -> Iterator[Place]:
    """Every expression in the head of a statement, with the field that holds it."""
    for field, value in ast.iter_fields(owner):
        if field in ("body", "orelse", "finalbody", "handlers", "cases") and isinstance(owner, ast.stmt):
            continue
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _tells(node)):
                continue
            if isinstance(node, ast.expr):
                yield owner, field, place, node
            if isinstance(node, ast.expr | ast.keyword | ast.comprehension | ast.arguments | ast.withitem):
                yield from _expressions(node)


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    """Other expressions that could stand in the place of one."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _of_text(node):
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [_NEGATED[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Attribute) and node.attr == "T" and isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Call) and (name := ast.unparse(node.func).rpartition(".")[2]) in _TWINS:
        other = ast.parse(ast.unparse(node.func).removesuffix(name) + _TWINS[name], mode="eval").body
        yield ast.Call(other, node.args, node.keywords)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float) and _LEAST <= abs(node.value) <= _MOST:
        yield ast.Constant(2.0 * node.value)


def _of_text(node: ast.BinOp) -> bool:
    """True for a sum or a format of texts."""
    sides = (node.left, node.right)
    return any(isinstance(x, ast.JoinedStr) or isinstance(getattr(x, "value", None), str) for x in sides)


def _put(owner: ast.AST, field: str, place: int | None, node: ast.expr) -> None:
    if place is None:
        setattr(owner, field, node)
    else:
        getattr(owner, field)[place] = node
