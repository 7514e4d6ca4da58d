"""The page on installing: its extras and packages are those of pyproject, and every extra has code that uses it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGE = (ROOT / "docs" / "install.md").read_text()
SOURCE = {path: path.read_text() for path in sorted((ROOT / "src" / "soacraft").rglob("*.py"))}
#: Packages that are imported, or run, under another name.
IMPORTED = {
    "pillow": "PIL", "ipython": "IPython", "scikit-sundae": "sksundae", "EAIK": "eaik", "pythonfmu": "pythonfmu",
    "mcap": "mcap",
}  # fmt: skip


def package(requirement: str) -> str:
    return re.split(r"[<>=! \[]", requirement)[0]


def rows() -> dict[str, tuple[str, str]]:
    """Extra -> (what it brings, what it is for), of the table on the page."""
    cells = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    return {name: (brings.strip(), use.strip()) for name, brings, use in cells}


def test_the_table_has_every_extra_and_no_other():
    assert set(rows()) == set(EXTRAS)


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_the_page_says(extra):
    brings, use = rows()[extra]
    assert brings.split(", ") == [package(x) for x in EXTRAS[extra]]
    assert use


def test_the_packages_of_the_core_are_listed():
    (line,) = re.findall(r"^The core needs (.*?)\. ", PAGE, re.MULTILINE)
    assert {x.lower() for x in re.split(r", | and ", line)} == {package(x) for x in PROJECT["dependencies"]}


@pytest.mark.parametrize(("extra", "name"), [(extra, package(x)) for extra, given in EXTRAS.items() for x in given])
def test_every_package_of_an_extra_has_code(extra, name):
    word = IMPORTED.get(name, name)
    uses = re.compile(rf"(import {word}\b|from {word}\b|[\"']{word}[\"'.]|\b{word}\.)")
    assert any(uses.search(text) for text in SOURCE.values()), f"{extra}: {name} is used nowhere"


def test_every_hint_names_an_extra_that_there_is():
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    texts = [*SOURCE.values(), *(path.read_text() for path in pages if "_build" not in path.parts)]
    named = {x for text in texts for group in re.findall(r"soacraft\[([\w,]+)\]", text) for x in group.split(",")}
    assert named <= set(EXTRAS)
    assert {"sim", "view", "plan"} <= named
