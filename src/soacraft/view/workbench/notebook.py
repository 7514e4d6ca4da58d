"""The history of a page as a notebook that runs unchanged: nbformat 4, written by ourselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from soacraft.view.workbench import vocabulary as words
from soacraft.view.workbench.syntax import parse
from soacraft.view.workbench.tokens import tokens


@dataclass(frozen=True)
class Typed:
    """A line that was typed and had a value: at which model, by its number, and in which state."""

    text: str
    model: int
    q: tuple[float, ...]
    v: tuple[float, ...]


@dataclass(frozen=True)
class Source:
    """Source of a model: the Python that makes it `mb`, a flag that loops are ignored, and notes for the reader."""

    name: str
    code: str
    loops: bool = False
    notes: Sequence[str] = field(default=())


#: Expressions of the page that soacraft has no name for.
_SIZE = "(s.hinge if space == 'hinge' else s.body).size"
_HELPERS = {
    "zeros": f"def zeros(space):\n    return s.vector(space, np.zeros({_SIZE}))",
    "ones": f"def ones(space):\n    return s.vector(space, np.ones({_SIZE}))",
    "random": "def random(space, seed=0):\n    rng = np.random.default_rng(seed)\n"
    f"    return s.vector(space, rng.standard_normal({_SIZE}))",
    "explain": "def explain(expr):\n    return expr.explain()",
    "root_rate": "from soacraft.ops.roots import root_rate",
}


def python(text: str) -> str:
    """A line as Python: the same text, with vectors and functions where Python has them.

    >>> python("E = V.dot(M*V)/2 + prove(H, H)")
    'E = s.V.dot(M*s.V)/2 + sc.prove(H, H)'
    """
    made, at, before = "", 0, ""
    for word in tokens(text):
        made += " ".join(text[at : word.place].split("\n"))
        home = ""
        if word.kind == "name" and before != ".":
            home = "s" if word.text in words.STACKED else ""
            if word.text in words.FUNCTIONS:
                home = words.FUNCTIONS[word.text].home
        made += f"{home}.{word.text}" if home else word.text
        at, before = word.place + len(word.text), word.text
    return made


def notebook(sources: Sequence[Source], typed: Sequence[Typed]) -> str:
    """The text of an .ipynb file: each model that lines belong to, its states, and the lines."""
    cells = [_markdown("# Workbench\n\nThe lines of a page, as they were typed.")]
    model, state = -1, None
    for line in typed:
        if line.model != model:
            model, state = line.model, None
            cells += _opening(sources[model], [x for x in typed if x.model == model])
        if (line.q, line.v) != state:
            state = (line.q, line.v)
            cells.append(_code(f"mb.set_state({list(line.q)!r}, {list(line.v)!r})"))
        name = parse(line.text).name
        cells.append(_code(python(line.text) + (f"\n{name}" if name else "")))
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
             "language_info": {"name": "python"}}  # fmt: skip
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _opening(source: Source, lines: Sequence[Typed]) -> list[dict[str, Any]]:
    used = {x.text for line in lines for x in tokens(line.text) if x.kind == "name"}
    named = [x for x in words.OPERATORS if x in used]
    ignore = ", ignore_loops=True" if source.loops else ""
    code = ["import numpy as np", "import soacraft as sc", "", source.code, f"s = sc.operators(mb{ignore})"]
    code += [f"{', '.join(named)} = {', '.join(f's.{x}' for x in named)}"] if named else []
    code += [f"\n\n{text}" if text.startswith("def") else text for name, text in _HELPERS.items() if name in used]
    about = "\n\n".join([f"## Model {source.name}".replace("\n", " "), *source.notes])
    return [_markdown(about), _code("\n".join(code))]


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
