"""The picture of the layers, drawn from the import-linter contract in `pyproject.toml` when the documentation is built.

Written to `docs/generated/layers.svg`. What a layer is for is the beginning of its docstring; a layer that the contract
has a place for, and the package has not yet, is dashed. Layers with modules that import `soacraft._core` are marked.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
WIDTH, GAP, NAME, MARK = 760, 8, 96, 44  # of the picture, between boxes, of the names, of the mark
LINE, LETTER = 16, 6.2  # height of a line, width of a letter, of the small text
CORE = "soacraft._core (C++)"
STYLE = """
    rect { rx: 5; fill: #e3f2fd; stroke: #1e88e5; stroke-width: 1.2; }
    .absent { fill: #ffffff; stroke: #9e9e9e; stroke-dasharray: 4 3; }
    .core { fill: #fbe9e7; stroke: #f4511e; }
    text { fill: #424242; font-size: 12px; }
    .name { font-weight: 600; font-size: 13px; fill: #212121; }
    .mark { fill: #f4511e; }
"""


class Contract(NamedTuple):
    """Layers from top to bottom, those of a row side by side; the layers that have a module which imports the core."""

    rows: list[list[str]]
    meet_core: set[str]


def contract(text: str) -> Contract:
    """The layers of a pyproject.toml.

    >>> contract('''[[tool.importlinter.contracts]]
    ... id = "layers"
    ... layers = ["(view)", "model | files", "errors"]
    ... ignore_imports = ["soacraft.model.flat.compiled -> soacraft"]
    ... ''')
    Contract(rows=[['view'], ['model', 'files'], ['errors']], meet_core={'model'})
    """
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    layers = next(x for x in contracts if x["id"] == "layers")
    rows = [[name.strip(" ()") for name in row.split("|")] for row in layers["layers"]]
    return Contract(rows, {x.split(".")[1] for x in layers["ignore_imports"]})


def purpose(source: Path, name: str) -> str | None:
    """The beginning of a layer's docstring; None when there is no such layer."""
    files = [source / name / "__init__.py", source / f"{name}.py"]
    file = next((x for x in files if x.exists()), None)
    if file is None:
        return None
    line = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0].replace("`", "")
    head = line.split(". ")[0].removesuffix(".")
    return head.split(": ")[0] if len(head.split(": ")[0]) > 12 else head


def picture(found: Contract, source: Path) -> str:
    """The contract as SVG."""
    boxes, y = [], GAP
    for row in found.rows:
        width = (WIDTH - GAP * (len(row) + 1)) / len(row)
        texts = {name: purpose(source, name) for name in row}
        lines = {name: _lines(text, width) for name, text in texts.items()}
        height = 10 + LINE * max(len(x) for x in lines.values())
        for i, name in enumerate(row):
            box = (GAP + i * (width + GAP), y, width, height)
            boxes.append(_box(name, lines[name], box, texts[name] is None, name in found.meet_core))
        y += height + GAP
    height = 10 + LINE
    words = ["compiled kernels and programs; used by the layers with a mark"]
    boxes.append(_box(CORE, words, (GAP, y, WIDTH - 2 * GAP, height), False, False, "core", 150))
    y += height + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="system-ui, sans-serif">\n'
        f"  <title>Layers of soacraft: each imports only from those below it</title>\n  <style>{STYLE}  </style>\n"
        f'  <path d="M0 0 H{WIDTH} V{y} H0 z" fill="#ffffff"/>\n' + "".join(boxes) + "</svg>\n"
    )


def _lines(text: str | None, width: float) -> list[str]:
    """The words of a box, in lines that fit."""
    return textwrap.wrap("to come" if text is None else text, int((width - NAME - 20 - MARK) / LETTER)) or [""]


def _box(
    name: str,
    lines: list[str],
    box: tuple[float, float, float, float],
    absent: bool,
    marked: bool,
    kind: str = "",
    indent: float = NAME,
) -> str:
    x, y, width, height = box
    kind = kind or ("absent" if absent else "layer")
    parts = [
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>',
        f'<text class="name" x="{x + 10:g}" y="{y + 17:g}">{escape(name)}</text>',
    ]
    for i, line in enumerate(lines):
        parts.append(f'<text x="{x + 10 + indent:g}" y="{y + 17 + i * LINE:g}">{escape(line)}</text>')
    if marked:
        parts.append(f'<text class="mark" x="{x + width - MARK:g}" y="{y + 17:g}">_core</text>')
    return "".join(f"  {part}\n" for part in parts)


def write(path: Path, root: Path = ROOT) -> None:
    """Write the picture, leaving the file alone when it has not changed."""
    made = picture(contract((root / "pyproject.toml").read_text()), root / "src" / "soacraft")
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text() != made:
        path.write_text(made)


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated" / "layers.svg"))
    return {"parallel_read_safe": True}
