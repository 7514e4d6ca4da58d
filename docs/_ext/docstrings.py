"""Docstrings for autodoc: plain text with `code`, indented equations and examples becomes reStructuredText, and the
numbers of papers become citations.
"""

from __future__ import annotations

import re
from typing import Any

from soacraft.citations import cite_papers

_CODE = re.compile(r"`[^`]+`")


def to_rst(lines: list[str]) -> list[str]:
    """Single backquotes become code, indented paragraphs literal blocks; stars, bars and underscores stay as written.

    >>> to_rst(["Sweep `x*y` of H*.", "", "    y = H* x", ""])
    ['Sweep ``x*y`` of H\\\\*.', '', '::', '', '    y = H* x', '']
    """
    result: list[str] = []
    for paragraph in _paragraphs(lines):
        if paragraph[0].startswith(">>>"):
            result += paragraph
        elif all(line.startswith("    ") for line in paragraph):
            result += ["::", "", *paragraph]
        else:
            result += [_escaped(line) for line in paragraph]
        result.append("")
    return result


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [paragraph for paragraph in found if paragraph]


def _escaped(line: str) -> str:
    codes = _CODE.findall(line)
    plain = [re.sub(r"([*|\\_])", r"\\\1", part) for part in _CODE.split(line)]
    words = [plain[0]]
    for code, after in zip(codes, plain[1:], strict=True):
        glue = "\\ " if after[:1].isalnum() else ""
        words.append(f"`{code}`{glue}{after}")
    return "".join(words)


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""

    def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        lines[:] = to_rst([cite_papers(line) for line in lines])

    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}
