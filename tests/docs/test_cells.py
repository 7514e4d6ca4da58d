"""Cells of the pages assert what they show: the build runs them, and so a page that has become untrue stops it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Calls that say whether something holds.
CLAIMS = {
    "allclose", "isclose", "is_zero", "is_identity", "is_close", "prove", "verify", "check_operator", "check_hinge",
}  # fmt: skip


def cells(text: str) -> list[ast.Module]:
    """The cells of a page, without the lines of their options."""
    return [ast.parse(re.sub(r"^:.*$", "", body, flags=re.MULTILINE)) for body in CELL.findall(text)]


def faults(text: str) -> list[str]:
    """What is wrong with the cells of a page that has some."""
    found = []
    for cell in (read := cells(text)):
        asserts = any(isinstance(x, ast.Assert) for x in ast.walk(cell))
        calls = {x.func.attr for x in ast.walk(cell) if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)}
        if calls & CLAIMS and not asserts:
            found.append(f"shows whether something holds, and asserts nothing: {ast.unparse(cell)[-120:]}")
        for attempt in (x for x in ast.walk(cell) if isinstance(x, ast.Try)):
            if not any(isinstance(x, ast.Raise) for x in attempt.orelse):
                found.append(f"shows an error, and goes on where there is none: {ast.unparse(attempt)[:120]}")
    if read and not any(isinstance(x, ast.Assert) for cell in read for x in ast.walk(cell)):
        found.append("no cell asserts anything")
    return found


MADE = {"_build", "generated", "jupyter_execute"}
FILES = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
PAGES = sorted(str(path) for path in FILES if not MADE & set(path.parts) and cells((DOCS / path).read_text()))


def test_the_pages_with_cells_are_seen():
    folders = {"notebooks/paper.md", "coming_from/pinocchio.md", "loops/dynamics.md", "benchmarks/loops.md"}
    assert {"quickstart.md", "models.md", "operators.md", "native_format.md", "first_robot.md"} | folders <= set(PAGES)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_cells_run(page, monkeypatch, capsys):
    """Without a kernel, in the folder of the page; the build of the pages runs them in one and shows the results."""
    matplotlib.use("agg")
    monkeypatch.chdir((DOCS / page).parent)
    monkeypatch.syspath_prepend(str((DOCS / page).parent))
    options, names = np.get_printoptions(), {"__name__": "__main__"}
    for cell in cells((DOCS / page).read_text()):
        exec(compile(cell, page, "exec"), names)
    np.set_printoptions(**options)


@pytest.mark.parametrize("page", PAGES)
def test_cells_assert_what_they_show(page):
    assert faults((DOCS / page).read_text()) == []


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("1 + 1", "no cell asserts"),
        (":tags: [hide-input]\n(A - B).is_zero()", "shows whether something holds"),
        ("assert True\ntry:\n    load()\nexcept Error as error:\n    print(error)", "shows an error"),
    ],
)
def test_a_page_that_asserts_nothing_is_noticed(cell, fault):
    text = f"# Page\n\n```{{code-cell}} python\n{cell}\n```\n"
    assert any(fault in each for each in faults(text))
    assert faults("# Page\n\n```python\n1 + 1\n```\n") == []
