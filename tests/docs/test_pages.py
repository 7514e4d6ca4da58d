"""The pages of the documentation: links lead somewhere, every page can be reached, code that is shown runs."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = {"_build", "generated", "jupyter_execute"}
PAGES = sorted(path for path in DOCS.rglob("*.md") if not MADE & set(path.relative_to(DOCS).parts))
READ = [*PAGES, *(ROOT / x for x in ("README.md", "CONTRIBUTING.md", "examples/README.md", "core/README.md"))]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PLAIN = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(path: Path) -> set[str]:
    """The headings of a page as addresses, in the manner of GitHub."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(path: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    links = re.findall(r"\]\(((?!https?:)[^)\s]+)\)", FENCED.sub("", path.read_text()))
    images = re.findall(r"^```\{(?:image|literalinclude|include)\} (\S+)", path.read_text(), re.MULTILINE)
    found = []
    for link in (*links, *(x for x in images if not x.startswith(("generated/", "../generated/")))):
        target, _, anchor = link.partition("#")
        place = path.parent / target if target else path
        if not place.exists() or (anchor and anchor not in anchors(place)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", READ, ids=named)
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_a_broken_link_is_noticed(tmp_path):
    (tmp_path / "other.md").write_text("# One thing\n\n```\n# not a title\n```\n")
    page = tmp_path / "page.md"
    links = "[a](other.md) [b](none.md) [c](other.md#one-thing) [d](other.md#not-a-title)"
    page.write_text(f"{links}\n```\n[e](f.md)\n```\n")
    assert broken(page) == ["none.md", "other.md#not-a-title"]


def test_every_page_is_reached_from_the_first():
    """By the lists of contents, which are what readers see at the side."""
    seen, ahead = set(), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        seen.add(page)
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            ahead += [x for entry in entries if (x := (page.parent / f"{entry}.md").resolve()) not in seen]
    assert seen == set(PAGES)


@pytest.mark.parametrize("page", [page for page in PAGES if PLAIN.search(page.read_text())], ids=named)
def test_code_that_is_not_a_cell_runs(page, capsys):
    """Blocks marked `python` on pages; cells are run when the pages are built."""
    names: dict[str, object] = {}
    exec("import numpy as np, soacraft as sc", names)
    for block in PLAIN.findall(page.read_text()):
        exec(textwrap.dedent(block), names)
