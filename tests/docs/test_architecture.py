"""The architecture page speaks of the code as it is: its layers, its files, the names in them."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest
from tests.docs.test_layers import contract_layers, is_there

ROOT = Path(__file__).parents[2]
#: Where the files that the page names are looked for.
FOLDERS = ("", "src/soacraft", "core", "core/include/soacraft", "docs")


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "architecture.md").read_text()


def test_the_page_shows_the_picture_and_has_every_layer_in_its_table(page):
    assert "```{image} generated/layers.svg" in page
    table = page.split("| layer |")[1].split("\n\n")[0]
    first = " ".join(line.split("|")[1] for line in table.splitlines()[1:] if line.startswith("|"))
    assert set(re.findall(r"`(\w+)`", first)) == {name for name in contract_layers() if is_there(name)}


@cache
def places() -> dict[str, list[Path]]:
    """The folders of the code that have a file of this name."""
    found: dict[str, list[Path]] = {}
    for top in ("src", "core", "tests"):
        for folder, _, names in os.walk(ROOT / top):
            for name in names:
                found.setdefault(name, []).append(Path(folder))
    return found


def found(name: str) -> Path | None:
    """A file from the end of its path."""
    near = (ROOT / folder / name for folder in FOLDERS)
    anywhere = (folder / Path(name).name for folder in places().get(Path(name).name, ()))
    return next((x for x in (*near, *anywhere) if x.is_file() and str(x).endswith(f"/{name}")), None)


def test_the_files_that_the_page_names_are_there(page):
    names = set(re.findall(r"`([\w./]+\.(?:py|pyi|hpp|cpp|toml))`", page))
    assert len(names) > 60
    assert sorted(name for name in names if found(name) is None) == []


def test_what_the_walks_name_is_in_the_files_they_name(page):
    """A row of a walk: the file, the names in it, what happens."""
    rows = re.findall(r"^\| `([\w./]+\.\w+)` \| (`[^|]+`) \| ", page, re.MULTILINE)
    assert len(rows) > 50
    for file, names in rows:
        path = found(file)
        assert path is not None, file
        words = set(re.findall(r"\w+", path.read_text()))
        missing = set(re.findall(r"\w+", names)) - words
        assert not missing, (file, missing)
