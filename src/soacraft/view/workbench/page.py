"""The workbench page as one text: our own scripts and style in it, which ask for nothing from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from soacraft.view.drawing.svg import text_of

_WEB = Path(__file__).parent / "web"
#: The pages, each with its style and its scripts in the order in which they build on each other.
_PAGES = {
    "page": (("style",), ("dom", "socket", "tree", "structure", "cards", "start")),
    "system": (("style", "system"), ("dom", "socket", "plots", "system")),
}


def page(title: str, nonce: str, name: str = "page") -> str:
    """The text of a page, whose scripts and style carry the nonce. All else comes as data when it is open."""
    styles, scripts = _PAGES[name]
    filled = {"title": text_of(title), "nonce": nonce, "style": _style(styles), "script": _script(scripts)}
    pieces = re.split("@(title|nonce|style|script)@", _text(f"{name}.html"))
    return "".join(filled[x] if i % 2 else x for i, x in enumerate(pieces))


def _style(names: tuple[str, ...]) -> str:
    return "\n".join(_text(f"{name}.css") for name in names)


@cache
def _script(names: tuple[str, ...]) -> str:
    inside = "\n".join(_text(f"{name}.js") for name in names)
    return f'"use strict";\n(() => {{\n{inside}\n}})();'


@cache
def _text(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")
