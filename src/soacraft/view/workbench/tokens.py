"""The words of an expression: names, numbers, quoted text and signs, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from soacraft.errors import ExpressionError

#: Characters of one expression at most.
LONGEST = 4000

_WORDS = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<number>(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<text>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
      | (?P<sign>\*\*|[-+*/@.,=()\[\]])""",
    re.VERBOSE | re.ASCII,
)
#: Meaning of a backslash before a letter, in quoted text.
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_ESCAPED = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


@dataclass(frozen=True)
class Token:
    """A word: `kind` is number, name, text, sign or end; `place` is where it begins."""

    kind: str
    text: str
    place: int


def fault(place: int, text: str) -> ExpressionError:
    """An error at a place of the text."""
    error = ExpressionError(text)
    error.place = place
    return error


def tokens(text: str) -> list[Token]:
    """All words and an end.

    >>> [x.text for x in tokens("2*phi.T")]
    ['2', '*', 'phi', '.', 'T', '']
    """
    if len(text) > LONGEST:
        raise fault(LONGEST, f"the expression has {len(text):,} characters, and {LONGEST:,} are the most: name parts.")
    made, at = [], 0
    while at < len(text):
        word = _WORDS.match(text, at)
        if word is None:
            raise fault(at, _unknown(text[at]))
        if word.lastgroup != "space":
            assert word.lastgroup is not None
            made.append(Token(word.lastgroup, word.group(), at))
        at = word.end()
    return [*made, Token("end", "", at)]


def _unknown(character: str) -> str:
    if character in "\"'":
        return "a quote is opened and not closed."
    if character.isdigit() or character == ".":
        return "this is no number; write 2, 0.5 or 1e-3."
    return f"there is no sign {character!r} here; there are names, numbers, 'text' and * + - / . , ( ) [ ]"


def unquoted(token: Token) -> str:
    r"""Text of a quoted token, as Python reads it.

    >>> unquoted(Token("text", r"'it\'s \x41'", 0))
    "it's A"
    """

    def plain(found: re.Match[str]) -> str:
        code = found.group(1) or found.group(2) or found.group(3)
        if code is not None:
            if int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF:  # beyond Unicode, or half a pair
                raise fault(token.place, f"there is no character {found.group()}.")
            return chr(int(code, 16))
        if found.group(4) not in _ESCAPES:
            raise fault(token.place, f"{found.group()!r} means nothing in a text; a backslash is written twice.")
        return _ESCAPES[found.group(4)]

    return _ESCAPED.sub(plain, token.text[1:-1])
