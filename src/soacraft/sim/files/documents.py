"""Bytes of a system file as tables, with bounds: size, depth, numbers of entries, names that occur twice."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from soacraft.errors import SoacraftError, SystemFileError, near
from soacraft.files.xml_tree import cut
from soacraft.sim.files import schema

#: Bytes that are read. TOML is read by a parser in Python.
MOST_JSON, MOST_TOML = 64 * 2**20, 8 * 2**20
#: Tables within tables.
MOST_DEEP = 40
#: Parts, connections and the like of one system.
MOST_PARTS = 200_000
#: Numbers that all signals of one system hold.
MOST_NUMBERS = 10_000_000
#: Brackets, commas and signs of equality in a file of TOML, each of which takes a call.
_MOST_MARKS = 1_000_000
#: Keys of one name of TOML, as in a.b.c = 1.
_DOTTED = re.compile(rb"(?:[\w\"'-]{1,200}[ \t]*\.[ \t]*){41}")
_PLAIN = (dict, list, str, int, float, bool, type(None))
_UNKNOWN = re.compile(r"unknown field `(.{0,200}?)`", re.DOTALL)


@contextmanager
def in_file(file: str) -> Iterator[None]:
    """Whatever goes wrong with the text of a file is an error with its name."""
    try:
        yield
    except SoacraftError as error:
        raise SystemFileError(str(error) if file in str(error) else f"{file}: {cut(str(error))}") from None
    except RecursionError:
        raise SystemFileError(f"{file}: is nested too deeply; no system needs that.") from None
    except UnicodeDecodeError as error:
        raise SystemFileError(f"{file}: is not UTF-8: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise SystemFileError(f"{file}: is no TOML: {cut(str(error))}.") from None
    except msgspec.DecodeError as error:
        raise SystemFileError(f"{file}: {_told(error)}") from None
    except (ValueError, OverflowError) as error:  # numbers of thousands of digits, dates that are none
        raise SystemFileError(f"{file}: cannot be read: {cut(str(error))}.") from None


def read_document(data: bytes, is_toml: bool, file: str) -> schema.System:
    """The tables of a file, checked for what they are; a `SystemFileError` with file and place else."""
    with in_file(file):
        most = MOST_TOML if is_toml else MOST_JSON
        if len(data) > most:
            raise SystemFileError(f"{file}: has {len(data)} bytes, and {most} are read at most.")
        tables = _toml(data, file) if is_toml else _json(data, file)
        _require_version(tables, file)
        _require_plain(tables, file)
        document = _converted(tables, file)
        parts = [
            document.connections,
            document.plants,
            document.parts,
            document.assemblies,
            document.groups,
            document.exports,
        ]
        if sum(map(len, parts)) + len(document.starts) > MOST_PARTS:
            raise SystemFileError(f"{file}: the system is too large: more than {MOST_PARTS} parts and connections.")
        return document


def _toml(data: bytes, file: str) -> Any:
    for mark in (b"[", b",", b"="):
        if data.count(mark) > _MOST_MARKS:
            raise SystemFileError(f"{file}: has more than {_MOST_MARKS} of {mark.decode()!r}, too many to read.")
    if _DOTTED.search(data):
        raise SystemFileError(f"{file}: is nested too deeply; no system needs that.")
    return tomllib.loads(data.decode())


def _json(data: bytes, file: str) -> Any:
    for mark, most in ((b"{", 500_000), (b"[", 1_000_000), (b",", 4_000_000)):
        if data.count(mark) > most:
            raise SystemFileError(f"{file}: has more than {most} of {mark.decode()!r}, too many to read.")

    def once(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise SystemFileError(f"{file}: the name {name!r:.60} occurs twice in one object.")
            seen.add(name)

    def nothing(text: str) -> None:
        return None

    json.loads(data, object_pairs_hook=once, parse_float=nothing, parse_int=nothing, parse_constant=nothing)
    return msgspec.json.decode(data)


def _require_plain(tables: Any, file: str) -> None:
    """Bound the depth, without a call for each level; refuse dates and times."""
    level = [tables]
    for _ in range(MOST_DEEP):
        inner = [y for x in level for y in (x.values() if isinstance(x, dict) else x)]
        odd = next((x for x in inner if not isinstance(x, _PLAIN)), None)
        if odd is not None:
            raise SystemFileError(f"{file}: {str(odd)!r:.60} is a date or a time, which no field takes.")
        level = [x for x in inner if isinstance(x, dict | list)]
        if not level:
            return
    raise SystemFileError(f"{file}: is nested too deeply: more than {MOST_DEEP} levels.")


def _require_version(tables: Any, file: str) -> None:
    version = tables.get("format") if isinstance(tables, dict) else None
    if not isinstance(version, str):
        raise SystemFileError(f'{file}: is not a soacraft system: it must have format = "{schema.FORMAT}".')
    if version != schema.FORMAT:
        raise SystemFileError(
            f"{file}: is of the format {version!r:.60}, this version of soacraft reads {schema.FORMAT!r}; load it with "
            "the program that wrote it and save it again, or update soacraft."
        )


def _converted(tables: dict[str, Any], file: str) -> schema.System:
    """The tables as objects; a fault of an entry is reported with its name, which msgspec does not give."""
    try:
        return msgspec.convert(tables, schema.System)
    except msgspec.ValidationError as error:
        wrong = error
    for section, kind in schema.SECTIONS.items():
        entries = tables.get(section)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            try:
                msgspec.convert(entry, kind)
            except msgspec.ValidationError as error:
                raise SystemFileError(f"{file}: at {section}.{name!r:.80}: {_told(error, kind)}") from None
    raise SystemFileError(f"{file}: {_told(wrong)}")


def _told(error: msgspec.DecodeError, kind: Any = schema.System) -> str:
    """The text of an error with its place first; of a field that is not known, the near ones."""
    text, _, place = str(error).partition(" - at `")
    at = f"at {place[:-1]:.200}: " if place else ""
    unknown = _UNKNOWN.search(text)
    if unknown is None:
        return f"{at}{cut(text)}."
    inner = re.findall(r"[a-z]+", place)
    table = schema.INNER.get(inner[-1], kind) if inner else kind
    return f"{at}unknown field {unknown[1]!r:.60}{near(unknown[1], table.__struct_encode_fields__, 'it has')}"
