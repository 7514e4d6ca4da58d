"""The architecture page speaks of the code as it is: its layers, its files, the names in them."""

from __future__ import annotations

import ast
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


#: Endings that words of one stem differ by.
ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "ies", "ed", "er", "es", "s", "e", "y")


def stem(word: str) -> str:
    """A word without its ending, in small letters.

    >>> {stem(x) for x in ("writes", "written_", "Write")} == {"writ", "written_"}
    True
    """
    word = word.lower()
    ending = next((x for x in ENDINGS if word.endswith(x) and len(word) - len(x) >= 3), "")
    return word.removesuffix(ending)


def stems(text: str) -> set[str]:
    """Stems of the words of a text; names are taken apart at underscores and capitals."""
    return {stem(x) for x in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)}


def glossary(page: str) -> dict[str, str]:
    """Entries of the glossary and of the words of the code: the word, what is said of it."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    entries = re.findall(r"^(\S[^\n]*)\n: (.+?)(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    table = page.split("## Words of the code")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    return {term: meaning for terms, meaning in (*entries, *rows) for term in re.split(r", ", terms)}


def has(path: Path, name: str) -> bool:
    """True if a file defines a name: a function, a class, a method of a class, or an assigned name."""
    text = path.read_text()
    owner, _, last = name.rpartition(".")
    if path.suffix != ".py":
        made = rf"^[^/\n]*(?:\b(?:struct|class) {last}\b|[\w>&*] {last}\()"
        return re.search(made, text, re.MULTILINE) is not None
    body = ast.parse(text).body
    if owner:
        body = next((x.body for x in body if isinstance(x, ast.ClassDef) and x.name == owner), [])
    for each in body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        if last in {getattr(each, "name", None), *(getattr(x, "id", None) for x in targets)}:
            return True
    return False


def fault(page: str, question: str, file: str, name: str) -> str:
    """Reason why a row of the table leads nowhere; empty if it does not."""
    path = found(file)
    if path is None:
        return f"there is no file {file}"
    if not has(path, name):
        return f"{file} does not define {name}"
    asked = stems(question)
    near = [text for term, text in glossary(page).items() if stems(term) <= asked]
    if not stems(name) & asked.union(*map(stems, near)):
        return f"{name} has no word of {question!r}, nor of its entries in the glossary"
    return ""


def test_questions_lead_to_names_that_hold_their_words(page):
    table = page.split("## Where is it?")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+\?) \| `([\w./]+)` \| `([\w.]+)` \|$", table, re.MULTILINE)
    assert len(rows) >= 30
    assert len(rows) == table.count("\n| ") - 2
    assert [x for row in rows if (x := fault(page, *row))] == []


def test_a_question_that_leads_nowhere_is_noticed(page):
    assert fault(page, "Where is a log written?", "sim/runs/logs.py", "Log.write").startswith("there is no file")
    assert fault(page, "Where is a log written?", "sim/runs/log.py", "Log.copy").startswith("sim/runs/log.py does not")
    assert fault(page, "Where is a stop held?", "sim/runs/log.py", "Log.write").startswith("Log.write has no word")
    assert fault(page, "Where are all loops closed?", "sim/advance.hpp", "Walker") != ""
    assert fault(page, "Where is the composite body inertia?", "recursions/lyapunov.py", "forward_lyapunov") == ""
