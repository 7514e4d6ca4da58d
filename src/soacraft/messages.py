"""Requests and answers: JSON with strict types, and frames of bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import pack
from typing import Annotated, Any

import msgspec
import numpy as np

from soacraft.errors import SoacraftError, ViewError, near

#: The id of what nobody asked for.
UNASKED = 0


class Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Fields of every request. The request of a verb is a subclass with more fields, which are checked."""

    id: Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
    verb: Annotated[str, msgspec.Meta(max_length=40)]


@dataclass(frozen=True)
class Handler:
    """Answer to a verb: `asks` is the class of its requests, `answer` turns one into data that go to the page as JSON,
    or bytes, which are sent unchanged. It runs in a thread for itself.
    """

    asks: type[Request]
    answer: Callable[[Any], Any]


class _Head(msgspec.Struct):
    """The part of a message that says who asks what; the rest is not looked at."""

    id: Annotated[int, msgspec.Meta(ge=1, lt=2**31)] | None = None
    verb: Any = None


_HEAD = msgspec.json.Decoder(_Head)


class Refusal(ViewError):
    """A request that is not computed: busy, out of time, not readable, unknown. `kind` is its short name."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


#: An escape of JSON: a whole pair of surrogates, half of one (group 1), or any other character.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def id_of(text: str) -> int | None:
    """Number of a request, if it can be read."""
    try:
        return _HEAD.decode(text).id
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeError):
        return id_of(_ESCAPE.sub(_replaced, text)) if _half_character(text) else None


def _half_character(text: str) -> str:
    """The first lone surrogate that a text of JSON escapes, as `\\ud800`; empty where it has none. JavaScript writes
    one for half of a character, and no text in UTF-8 can hold it."""
    lone = next((x[1] for x in _ESCAPE.finditer(text) if x[1]), "") if "\\" in text else ""
    return f"\\{lone}" if lone else ""


def _replaced(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape[1] else escape[0]


def read(text: str, handlers: Mapping[str, Handler]) -> tuple[Handler, Request]:
    """The handler of a message and its request; a refusal that says what is wrong."""
    try:
        verb = _HEAD.decode(text).verb
        if not isinstance(verb, str):
            raise Refusal("unreadable", "a request is a JSON object with a number id and a text verb.")
        if verb not in handlers:
            raise Refusal("unknown", f"there is no verb {verb[:40]!r}{near(verb, handlers)}")
        return handlers[verb], msgspec.json.decode(text, type=handlers[verb].asks)
    except msgspec.ValidationError as error:
        raise Refusal("unreadable", f"the request is not as it must be: {error}") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        if half := _half_character(text):
            raise Refusal("unreadable", f"the request holds {half}, half of a character: send whole ones.") from None
        raise Refusal("unreadable", f"a request is a JSON object, and this is none: {error}") from None
    except RecursionError:
        raise Refusal("unreadable", "the request is nested too deep.") from None


def answer(asked: int, value: Any, most: int) -> str | bytes:
    """Answer in the form in which it goes to the page."""
    data: str | bytes
    if isinstance(value, bytes):
        data = pack("<I", asked) + value
    else:
        data = _text({"id": asked, "answer": value})
    if len(data) > most:
        raise Refusal("large", f"the answer takes {len(data):,} bytes, and {most:,} are the most; ask for less.")
    return data


def event(name: str, data: Any) -> str | bytes:
    """Event that goes to the pages without a request."""
    if isinstance(data, bytes):
        return pack("<I", UNASKED) + data
    return _text({"id": None, "event": name, "data": data})


def fault(asked: int | None, error: BaseException) -> str:
    """An error as a message: the kind and the text of ours; of others the kind alone, since they are mistakes of ours,
    and `place`, a column, where the error has one."""
    content: dict[str, Any]
    if isinstance(error, Refusal):
        content = {"kind": error.kind, "text": str(error)}
    elif isinstance(error, SoacraftError):
        content = {"kind": type(error).__name__, "text": str(error)}
    else:
        content = {"kind": "fault", "text": f"a mistake inside soacraft, please report it: {type(error).__name__}."}
    if isinstance(error, SoacraftError) and error.place is not None:
        content["place"] = error.place
    return _text({"id": asked, "error": content})


def _text(value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode("utf-8")
    except UnicodeEncodeError:  # a name of a file or a model with half a character, which JSON cannot hold
        return msgspec.json.encode(_legible(msgspec.to_builtins(value, enc_hook=_plain))).decode("utf-8")


def _legible(value: Any) -> Any:
    """Plain data with a question mark for each lone surrogate."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_legible(key): _legible(part) for key, part in value.items()}
    return [_legible(part) for part in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be sent to a page.")
