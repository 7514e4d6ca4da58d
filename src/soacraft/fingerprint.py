"""Fingerprints of functions and objects: equal where the code and everything it reads are equal, in any process.

A name says too little: a function that was edited keeps it. A fingerprint has one entry for each thing that determines
the result of a call: the code object (instructions, constants and names; no line numbers, file names, comments or
docstrings), default arguments, values of closures, globals, and the functions and classes of the user that are reached
from there, to any depth. Files of the standard library, of installed packages and of soacraft are not read: their
functions count by module, name and version. Nothing depends on addresses or on the seed of hashes.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import inspect
import operator
import os
import site
import sys
import sysconfig
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from importlib import import_module, metadata, util
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

#: Entry of the thing itself; the others are named after what reads them, "helper.GAIN" being read by `helper`.
ITSELF = "code"
_ABSENT = "absent"
#: Longest value that an entry shows as it is, in letters; a longer one is shown by its digest.
_SHOWN = 40
#: Attributes of classes, and names that the bodies of classes store, which tell where text is and not what it does.
_PLACES = frozenset({
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__classcell__",
    "__classdictcell__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__",
    "__match_args__", "__module__", "__qualname__", "__static_attributes__", "__weakref__", "_abc_impl",
})  # fmt: skip
_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_VARIABLES = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
#: Methods that change their object, by which code shows that a list, set or dict is a memory of its own.
_CHANGES = frozenset({
    "__setitem__", "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft",
    "insert", "intersection_update", "pop", "popitem", "popleft", "put", "remove", "reverse", "setdefault", "sort",
    "symmetric_difference_update", "update",
})  # fmt: skip
#: Flags of a code object that change a call: *args, **named, generators and coroutines.
_FLAGS = 0x4 | 0x8 | 0x20 | 0x80 | 0x100 | 0x200
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)

#: Plain values in the place of objects of a class, which say what these are: {class: function of the object}.
_DESCRIPTIONS: dict[type, Callable[[Any], Any]] = {}
_WARNED: set[str] = set()
#: Memories that were empty when they were read first, by the address of what has them and their names.
_EMPTY: set[tuple[int, str]] = set()


class Fingerprint(NamedTuple):
    """Entries by what they are of, and the names of things that cannot be read."""

    entries: dict[str, str]
    unread: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The entries as 32 hexadecimal digits."""
        return _digest("\n".join(f"{name}={x}" for name, x in sorted(self.entries.items())).encode())


def fingerprint(value: Any) -> Fingerprint:
    """Entries of a function, or of anything else that is called or read. O(size of the code and data that it reaches).

    >>> GAIN = 2.0
    >>> def f(t): return GAIN * t
    >>> def g(t): return GAIN * t
    >>> fingerprint(f) == fingerprint(g), fingerprint(f).entries["GAIN"]
    (True, '2.0')
    >>> before, GAIN = fingerprint(f), 3.0
    >>> changes(before.entries, fingerprint(f).entries)
    'GAIN was 2.0 and is 3.0'
    """
    return fingerprint_all({ITSELF: value})


def fingerprint_all(values: Mapping[str, Any]) -> Fingerprint:
    """One fingerprint of several things, each an entry under its name.

    >>> fingerprint_all({"gain": 2.0, "size": 3}).entries
    {'gain': '2.0', 'size': '3'}
    """
    reader = _Reader()
    for name, value in values.items():
        reader.entry(name, value)
    return Fingerprint(reader.entries, tuple(dict.fromkeys(reader.unread)))


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Differences of two fingerprints in words; empty where they are the same."""
    lines = []
    for name in sorted({*then, *now}, key=lambda x: (x != ITSELF, x)):
        a, b = then.get(name), now.get(name)
        if a == b:
            continue
        if a is None:
            lines.append(f"{name} is read now, and was not")
        elif b is None:
            lines.append(f"{name} was read, and is not")
        elif name == ITSELF:
            lines.append("its code has changed" if len(a) == len(b) == 32 else f"it was {a} and is {b}")
        elif len(a) == 32 or len(b) == 32:
            lines.append(f"{name} has changed")
        else:
            lines.append(f"{name} was {a} and is {b}")
    more = f", and {len(lines) - 4} more" if len(lines) > 4 else ""
    return "; ".join(lines[:4]) + more


def describe_by(kind: type, description: Callable[[Any], Any]) -> None:
    """Let objects of a class be read by a plain value that describes them, in the place of their state."""
    _DESCRIPTIONS[kind] = description


def warn_unread(what: str, prints: Iterable[Fingerprint]) -> None:
    """Warn, once for each, of things that cannot be read, so that a change of them is not noticed."""
    for name in dict.fromkeys(x for one in prints for x in one.unread):
        text = f"{what} reads {name}: another value of it would not be noticed."
        if text not in _WARNED:
            _WARNED.add(text)
            warnings.warn(text, RuntimeWarning, stacklevel=3)


# -- reading ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Goes through what a value reaches, in an order that is the same in every process."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.unread: list[str] = []
        self._places: dict[int, str] = {}  # by address: where an object was met first
        self._alive: list[Any] = []  # temporary objects, whose addresses must not be used again

    def entry(self, name: str, value: Any) -> None:
        """Make an entry of a value; what it consists of may become further ones."""
        while name in self.entries:
            name += "'"
        self.entries[name] = ""  # taken
        try:
            content = self.content(name, value)
        except RecursionError:
            self.unread.append(f"{name!r}, which is nested too deeply")
            content = b"nested too deeply"
        self.entries[name] = _shown(content)

    def content(self, name: str, value: Any) -> bytes:
        """A value as bytes; `name` is the entry, or the part of one, that it belongs to."""
        if type(value) in _PLAIN or isinstance(value, np.number | np.bool_):
            return repr(value).encode(errors="surrogatepass")
        if type(value) in (tuple, frozenset, set):
            return self._collection(name, value)
        if id(value) in self._places:
            return f"as {self._places[id(value)]}".encode()
        self._alive.append(value)
        self._places[id(value)] = name
        if isinstance(value, types.FunctionType):
            return self._function(name, value)
        if isinstance(value, type):
            return self._class(name, value)
        if isinstance(value, types.ModuleType):
            return self._module(name, value, frozenset())
        if isinstance(value, types.CodeType):
            return _static(value).digest.encode()
        try:
            return self._object(name, value)
        except RecursionError:
            raise
        except Exception:  # an object whose own methods fail
            return self._unreadable(name, type(value))

    def _collection(self, name: str, value: Any) -> bytes:
        if type(value) is tuple:
            return b"(%b)" % b",".join(self.content(f"{name}[{i}]", x) for i, x in enumerate(value))
        if not all(type(x) in _PLAIN for x in value):
            return b"{%b}" % b",".join(sorted(fingerprint(x).digest.encode() for x in value))
        return b"{%b}" % b",".join(sorted(repr(x).encode(errors="surrogatepass") for x in value))

    def _function(self, name: str, f: types.FunctionType) -> bytes:
        code = f.__code__
        inside = "" if name == ITSELF else f"{name}."
        if is_library(code.co_filename):
            self._version(f.__globals__.get("__name__") or f.__module__)
            parts = [f"{f.__globals__.get('__name__')}.{code.co_qualname}".encode()]
        else:
            static = _static(code)
            parts = [static.digest.encode()]
            self.entries["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
            self._globals(inside, f, static)
        values = f.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        for key, x in {**dict(zip(names, values, strict=True)), **(f.__kwdefaults__ or {})}.items():
            parts.append(b"%b=%b" % (key.encode(), self.content(f"{inside}{key}", x)))
        changed = _static(code).changed
        for key, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # an empty cell
                self.entries[f"{inside}{key}"] = _ABSENT
                continue
            self._variable(f"{inside}{key}", value, cell if key in changed else None, key)
        attributes = {key: x for key, x in vars(f).items() if key != "__wrapped__"}
        if attributes:
            parts.append(self.content(f"{inside}__dict__", attributes))
        return b" ".join(parts)

    def _globals(self, inside: str, f: types.FunctionType, static: _Static) -> None:
        for key in static.reads:
            if key in f.__globals__:
                value = f.__globals__[key]
                if isinstance(value, types.ModuleType):
                    self._imported(f"{inside}{key}", value, static.attributes)
                else:
                    self._variable(f"{inside}{key}", value, f.__globals__ if key in static.changed else None, key)
            elif not hasattr(builtins, key):
                self.entries[f"{inside}{key}"] = _ABSENT
        for key, level, names in static.imports:
            try:
                package = f.__globals__.get("__package__") or str(f.__globals__.get("__name__", "")).rpartition(".")[0]
                full = util.resolve_name("." * level + key, package or None)
                module = import_module(full)
            except Exception as wrong:
                self.entries[f"{inside}{key}"] = f"no module: {type(wrong).__name__}"
                continue
            top = module if names else sys.modules.get(full.partition(".")[0], module)
            self._imported(f"{inside}{key}", top, frozenset(names) if names else static.attributes)

    def _variable(self, name: str, value: Any, owner: Any, key: str) -> None:
        """An entry of a variable. One that the code changes itself, `owner` having it, is a memory and no constant: it
        counts by its kind."""
        if id(value) in self._places:
            self.entries[name] = _shown(f"as {self._places[id(value)]}".encode())
        elif owner is None or isinstance(value, types.FunctionType | type):
            self.entry(name, value)
        else:
            self.entries[name] = _shown(f"memory {type(value).__name__}".encode())
            if _is_empty(value):
                _EMPTY.add((id(owner), key))
            elif (id(owner), key) not in _EMPTY:
                self.unread.append(f"{name!r}, which it changes itself")

    def _imported(self, name: str, module: types.ModuleType, attributes: frozenset[str]) -> None:
        while name in self.entries:
            name += "'"
        self.entries[name] = _shown(f"module {module.__name__}".encode())
        self._module(name, module, attributes)

    def _module(self, name: str, module: types.ModuleType, attributes: frozenset[str]) -> bytes:
        """A module of a library by its version; of one of the user those names that are read, or all of them."""
        if _of_library(module.__name__):
            self._version(module.__name__)
            return f"module {module.__name__}".encode()
        space = vars(module)
        for key in sorted(attributes & set(space)) or sorted(x for x in space if not x.startswith("__")):
            value = space[key]
            if isinstance(value, types.ModuleType):
                if id(value) not in self._places:
                    self._alive.append(value)
                    self._places[id(value)] = f"{name}.{key}"
                    self._imported(f"{name}.{key}", value, attributes)
            elif f"{name}.{key}" not in self.entries:
                self.entry(f"{name}.{key}", value)
        return b"module"

    def _class(self, name: str, kind: type) -> bytes:
        if _of_library(kind.__module__):
            self._version(kind.__module__)
            return f"class {kind.__module__}.{kind.__qualname__}".encode()
        parts = [self.content(f"{name}.{x.__name__}", x) for x in kind.__bases__ if x is not object]
        for key, x in sorted(vars(kind).items()):
            if key in _PLACES or isinstance(x, types.MemberDescriptorType | types.GetSetDescriptorType):
                continue
            if isinstance(x, types.FunctionType | staticmethod | classmethod | property | functools.cached_property):
                for suffix, function in _functions_of(x):
                    self.entry(f"{name}.{key}{suffix}", function)
                parts.append(f"{key}: {type(x).__name__}".encode())
            else:
                parts.append(b"%b=%b" % (key.encode(), self.content(f"{name}.{key}", x)))
        return b"class " + b" ".join(parts)

    def _object(self, name: str, value: Any) -> bytes:
        """Anything else: arrays by content, bound methods with their object, the rest by the state that copies have."""
        kind = type(value)
        if kind is list:
            return b"[%b]" % b",".join(self.content(f"{name}[{i}]", x) for i, x in enumerate(value))
        if isinstance(value, types.MappingProxyType) or kind is dict:
            keys = list(value)
            if all(isinstance(x, str | int | float | bytes | None) for x in keys):
                keys.sort(key=repr)
            pairs = [(self.content(f"{name}.keys", x), self.content(f"{name}[{x!r:.40}]", value[x])) for x in keys]
            return b"dict {%b}" % b",".join(b"%b:%b" % x for x in pairs)
        if kind is np.ndarray and not value.dtype.hasobject:
            return f"array {value.dtype!r} {value.shape} {_digest(np.ascontiguousarray(value).tobytes())}".encode()
        if isinstance(value, types.MethodType):
            return b"method %b of %b" % (
                self.content(f"{name}.__func__", value.__func__), self.content(f"{name}.__self__", value.__self__)
            )  # fmt: skip
        if isinstance(value, functools.partial):
            return b"partial " + self.content(name, (value.func, value.args, value.keywords))
        for describes in (x for x in kind.__mro__ if x in _DESCRIPTIONS):
            described = _DESCRIPTIONS[describes](value)
            return f"{describes.__name__} ".encode() + self.content(f"{name}.{kind.__name__}", described)
        if isinstance(value, staticmethod | classmethod | property | functools.cached_property):
            functions = [self.content(f"{name}{suffix}", f) for suffix, f in _functions_of(value)]
            return b" ".join([kind.__name__.encode(), *functions])
        inner = getattr(value, "__wrapped__", None) or getattr(value, "py_func", None)
        if inner is not None and callable(value):  # functools.lru_cache, numba.jit
            return self.content(f"{name}.__class__", kind) + b" of " + self.content(f"{name}.__wrapped__", inner)
        if isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
            return self._compiled(name, value)
        return self._reduced(name, value)

    def _compiled(self, name: str, f: Any) -> bytes:
        """A compiled function by module, name and version; a method of an object with that object."""
        bound = f.__self__
        if bound is None or isinstance(bound, types.ModuleType):
            self._version(f.__module__ or "builtins")
            return f"{f.__module__}.{f.__qualname__}".encode()
        return f"{f.__qualname__} of ".encode() + self.content(f"{name}.__self__", bound)

    def _reduced(self, name: str, value: Any) -> bytes:
        """The state of an object as `copy` and `pickle` have it; values that a property caches are left out."""
        kind = type(value)
        try:
            reduced = copyreg.dispatch_table[kind](value) if kind in copyreg.dispatch_table else value.__reduce_ex__(4)
            if not isinstance(reduced, str):
                reduced = [list(x) if i > 2 and x is not None else x for i, x in enumerate(reduced[:5])]
        except Exception:
            return self._unreadable(name, kind)
        self._version(kind.__module__)
        if isinstance(reduced, str):
            return f"{kind.__module__}.{kind.__qualname__} {reduced}".encode()
        if len(reduced) > 2 and type(reduced[2]) is dict:
            cached = {x for x in reduced[2] if isinstance(_of_type(kind, x), functools.cached_property)}
            reduced[2] = {key: x for key, x in reduced[2].items() if key not in cached}
        self._alive.append(reduced)
        inside = "" if name == ITSELF else f"{name}."
        words = (kind.__name__, "__args__", "__dict__", "__items__", "__pairs__")
        if reduced[0] is vars(copyreg)["__newobj__"]:
            reduced[0], reduced[1] = reduced[1][0], reduced[1][1:]
        parts = [(word, self.content(f"{inside}{word}", x)) for word, x in zip(words, reduced, strict=False)]
        return b"object " + b" ".join(b"%b %b" % (word.encode(), x) for word, x in parts)

    def _unreadable(self, name: str, kind: type) -> bytes:
        where = "the object itself" if name == ITSELF else repr(name)
        self.unread.append(f"{where} ({kind.__qualname__}), which has no state that can be read")
        self._version(kind.__module__)
        return f"{kind.__module__}.{kind.__qualname__} that cannot be read".encode()

    def _version(self, module: str | None) -> None:
        """Note the version of the library that a module belongs to."""
        if module and _of_library(module):
            top = module.partition(".")[0]
            standard = top in sys.stdlib_module_names or top == "builtins"
            self.entries["python" if standard else top] = _version(top)


def _is_empty(value: Any) -> bool:
    try:
        return not value
    except Exception:  # an array of several numbers has no truth value
        return False


def _functions_of(x: Any) -> list[tuple[str, Any]]:
    if isinstance(x, property):
        pairs = [("", x.fget), (".setter", x.fset), (".deleter", x.fdel)]
        return [(suffix, f) for suffix, f in pairs if f is not None]
    if isinstance(x, functools.cached_property):
        return [("", x.func)]
    return [("", x.__func__ if isinstance(x, staticmethod | classmethod) else x)]


def _of_type(kind: type, name: Any) -> Any:
    return inspect.getattr_static(kind, name, None) if isinstance(name, str) else None


def _shown(content: bytes) -> str:
    """A short text as it is, anything longer by its digest."""
    text = content.decode(errors="replace")
    return text if len(text) <= _SHOWN and text.isprintable() else _digest(content)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


# -- code ------------------------------------------------------------------------------------------------------------


class _Static(NamedTuple):
    """A code object: the digest of its instructions, and the names of what it reads."""

    digest: str
    reads: tuple[str, ...]
    changed: frozenset[str]
    """Names among these, and among the variables of closures, that the code changes itself."""
    attributes: frozenset[str]
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]


_CODES: WeakKeyDictionary[types.CodeType, _Static] = WeakKeyDictionary()


def _static(code: types.CodeType) -> _Static:
    """Instructions with the constants and names they mean, those of inner functions with them. O(instructions)."""
    stored = _CODES.get(code)
    if stored is not None:
        return stored
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    lines = [f"{code.co_flags & _FLAGS} {counts} {names} {code.co_exceptiontable.hex()}"]
    reads: dict[str, None] = {}
    attributes: set[str] = set()
    changed: set[str] = set()
    imports: dict[tuple[str, int, tuple[str, ...]], None] = {}
    before: list[Any] = [None, None]
    variables = ["", ""]  # those that the last two instructions have read
    for x in dis.get_instructions(code):
        if x.opname in ("NOP", "EXTENDED_ARG", "CACHE"):
            continue
        if x.opname == "STORE_NAME" and x.argval in _PLACES:
            lines.pop()  # what is stored there: a place, a name, a docstring
            continue
        if isinstance(x.argval, types.CodeType):
            inner = _static(x.argval)
            lines.append(f"{x.opname} {inner.digest}")
            reads.update(dict.fromkeys(inner.reads))
            attributes |= inner.attributes
            changed |= inner.changed
            imports.update(dict.fromkeys(inner.imports))
        else:
            lines.append(f"{x.opname} {_constant(x.argval)}")
        if x.opname in _READS:
            reads[x.argval] = None
        elif x.opname in _ATTRIBUTES:
            attributes.add(str(x.argval))
            if x.argval in _CHANGES:
                changed.add(variables[-1])
        elif x.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            changed.add(variables[-2])
        elif x.opname in ("STORE_GLOBAL", "STORE_DEREF"):
            changed.add(x.argval)
        elif x.opname == "IMPORT_NAME":
            imports[x.argval, operator.index(before[-2] or 0), tuple(before[-1] or ())] = None
        before = [before[-1], x.argval]
        variables = [variables[-1], x.argval if x.opname in _VARIABLES else ""]
    static = _Static(_digest("\n".join(lines).encode(errors="surrogatepass")), tuple(sorted(reads)),
                     frozenset(changed), frozenset(attributes), tuple(sorted(imports)))  # fmt: skip
    _CODES[code] = static
    return static


def _constant(value: Any) -> str:
    """A constant as text; sets in one order."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_constant, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_constant, value)) + ")"
    return repr(value)


# -- libraries -------------------------------------------------------------------------------------------------------


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(x) for x in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(__file__)]
    return tuple(os.path.join(os.path.realpath(x), "") for x in dict.fromkeys(paths) if x)


@functools.lru_cache(4096)
def is_library(file: str) -> bool:
    """True for a file of the standard library, of an installed package or of soacraft: it counts by its version.

    >>> import os
    >>> is_library(os.__file__), is_library("study.py"), is_library("<stdin>")
    (True, False, False)
    """
    if file.startswith("<"):
        return file.startswith("<frozen") or file == "<__array_function__ internals>"
    place = os.path.realpath(file)
    parts = place.split(os.sep)
    return place.startswith(_library_folders()) or "site-packages" in parts or "dist-packages" in parts


def _of_library(module: str | None) -> bool:
    """True for a module whose file is one of a library; one without a file is built in, or made by the user."""
    top = (module or "").partition(".")[0]
    loaded = sys.modules.get(module or "")
    file = getattr(loaded, "__file__", None)
    if isinstance(file, str):
        return is_library(file) or file.endswith(tuple(EXTENSION_SUFFIXES))
    return top in sys.builtin_module_names or (top in sys.stdlib_module_names and top != "__main__")


@functools.cache
def _version(top: str) -> str:
    """The version of a library by the name of its module; of a compiled file without one, its digest."""
    if top in sys.stdlib_module_names or top == "builtins":
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    loaded = sys.modules.get(top)
    version = getattr(loaded, "__version__", None)
    if isinstance(version, str):
        return version[:_SHOWN]
    try:
        return metadata.version(top)[:_SHOWN]
    except (metadata.PackageNotFoundError, ValueError):
        pass
    file = getattr(loaded, "__file__", None) or ""
    try:
        with open(file, "rb") as content:
            return _digest(content.read())
    except OSError:
        return "no version"
