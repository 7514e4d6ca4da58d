"""What a class of components says, as a short text: another one where an equation, a declaration or a parameter is
another. Comments, layout and docstrings play no part; functions of the same package that equations call do.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Crossing, Equation, OfState, Output, Quantity

_KNOWN: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def fingerprint(component: Component) -> str:
    """Of the class of a component, as 32 hexadecimal digits; of one whose ports are its own, of these.

    >>> from soacraft import sim
    >>> a, b = sim.Gain(gain=1.0), sim.Gain(gain=2.0)
    >>> fingerprint(a) == fingerprint(b), fingerprint(a) == fingerprint(sim.Sum())
    (True, False)
    """
    if "interface" in vars(component):
        return _digest(type(component), component)
    if type(component) not in _KNOWN:
        _KNOWN[type(component)] = _digest(type(component), component)
    return _KNOWN[type(component)]


def _digest(kind: type, component: Component) -> str:
    digest = blake2b(digest_size=16)
    for text in _said(kind, component):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def _said(kind: type, component: Component) -> Iterator[str]:
    face, seen = component.interface, set[int]()
    yield kind.__name__
    for field in msgspec.structs.fields(type(component.p)):
        default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory
        yield f"parameter {field.name}: {field.type!r} = {_value(default, seen)}"
    for name, quantity in sorted(face.quantities.items()):
        yield f"{type(quantity).__name__} {name} {_declared(quantity, seen)}"
    for x in sorted(face.equations, key=lambda x: (x.kind, x.name)):
        yield f"{x.kind} {x.name}({', '.join(x.arguments)}) {_target(x)} {_function(x.function, seen)}"


def _declared(quantity: Quantity, seen: set[int]) -> str:
    names = ("unit", "shape", "dtype", "frame", "of", "default", "start", "nominal", "to")
    return " ".join(f"{name}={_value(getattr(quantity, name, None), seen)}" for name in names)


def _target(equation: Equation) -> str:
    if isinstance(equation, OfState):
        return f"of {equation.state.name} at {equation.at.name if equation.at is not None else ''}"
    if isinstance(equation, Crossing):
        return f"direction {equation.direction}"
    return "output" if isinstance(equation, Output) else ""


def _value(value: Any, seen: set[int]) -> str:
    if isinstance(value, FunctionType):
        return _function(value, seen)
    if isinstance(value, type):
        return value.__name__
    if callable(value):
        return type(value).__name__
    return repr(value)


def _function(function: Any, seen: set[int]) -> str:
    """Its text, or its code where there is no text; and that of functions of the same package that it names."""
    if not isinstance(function, FunctionType):
        return type(function).__name__
    if id(function) in seen:
        return function.__name__
    seen.add(id(function))
    package = _package(function)
    cells = [x.cell_contents for x in function.__closure__ or () if x.cell_contents is not function]
    parts = [_text(function), *(_value(x, seen) for x in cells if _plain(x) or isinstance(x, FunctionType))]
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        if isinstance(named, FunctionType) and _package(named) == package:
            parts.append(f"{name}: {_function(named, seen)}")
        elif _plain(named):
            parts.append(f"{name} = {named!r}")
    return " ".join(parts)


def _package(function: FunctionType) -> str:
    """The first part of the name of its module; empty where it has none, as in a program that is executed."""
    return (function.__module__ or "").partition(".")[0]


def _plain(value: Any) -> bool:
    return isinstance(value, int | float | str | bytes | tuple)


def _text(function: FunctionType) -> str:
    """The text as Python would write it, without comments and docstrings."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return _code(function.__code__)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _code(code: CodeType) -> str:
    constants = [_code(x) if isinstance(x, CodeType) else repr(x) for x in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames}"
