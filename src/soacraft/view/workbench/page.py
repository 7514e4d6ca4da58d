"""The workbench page as one text: our own scripts and style in it, which ask for nothing from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from soacraft.view.drawing.svg import text_of

_WEB = Path(__file__).parent / "web"
#: In the order in which they build on each other.
_SCRIPTS = ("dom", "socket", "tree", "structure", "cards", "start")


def page(title: str, nonce: str) -> str:
    """The text of the page, whose scripts and style carry the nonce. All else comes as data when it is open."""
    filled = {"title": text_of(title), "nonce": nonce, "style": _text("style.css"), "script": _script()}
    pieces = re.split("@(title|nonce|style|script)@", _text("page.html"))
    return "".join(filled[x] if i % 2 else x for i, x in enumerate(pieces))


@cache
def _script() -> str:
    inside = "\n".join(_text(f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{inside}\n}})();'


@cache
def _text(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")
