"""Which equation belongs to which name: read from docstrings, the table of operators and the identities."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import soacraft
from soacraft.ops import table, vectors

KINDS = {
    "Eq": "Eq.", "Lemma": "Lemma", "Cor": "Corollary", "Corollary": "Corollary", "Alg": "Algorithm",
    "Algorithm": "Algorithm", "Listing": "Listing", "Listings": "Listing", "section": "section",
}  # fmt: skip
ORDER = {kind: i for i, kind in enumerate(("Eq.", "Lemma", "Corollary", "Algorithm", "Listing", "section", ""))}

_NUMBER = r"\d{1,2}(?:\.\d+)?[a-g]?"
_RANGE = rf"{_NUMBER}(?:-{_NUMBER})?(?![\d.]*\d)"
_WORD = re.compile(
    rf"(?<![\w.])(?P<paper>00[0-4])(?![\w.]*\d)"
    rf"|(?<!\w)(?P<kind>Eq|Lemma|Cor|Corollary|Alg|Algorithm|Listings|Listing|section)\b\.?\s+"
    rf"(?P<numbers>{_RANGE}(?:(?:,| and| to)\s+{_RANGE})*)"
)


class Citation(NamedTuple):
    """One equation, lemma, ... of one paper; no kind and number when only the paper is named."""

    paper: str
    kind: str = ""
    number: str = ""

    @property
    def place(self) -> tuple[str, int, tuple[float, str]]:
        """For sorting."""
        digits = re.match(r"[\d.]+", self.number)
        return self.paper, ORDER[self.kind], (float(digits[0]) if digits else 0.0, self.number)

    def __str__(self) -> str:
        return f"{self.paper} {self.kind} {self.number}".strip()


class Use(NamedTuple):
    """What a citation leads to: in words, and the name it has."""

    citation: Citation
    what: str
    where: str


def cited(text: str, paper: str | None = None) -> list[Citation]:
    """The citations in a text, ranges written out; `paper` is meant where none is named.

    >>> [str(c) for c in cited("AB forward dynamics (004 Eq. 12-14, 58, Algorithm 6.1; 001).")]
    ['004 Eq. 12', '004 Eq. 13', '004 Eq. 14', '004 Eq. 58', '004 Algorithm 6.1', '001']
    """
    found: list[Citation] = []
    alone = False  # a paper was named and nothing of it yet
    for match in _WORD.finditer(text):
        if match["paper"]:
            found += [Citation(str(paper))] if alone else []
            paper, alone = match["paper"], True
        elif paper is not None:
            alone = False
            found += [Citation(paper, KINDS[match["kind"]], number) for number in _numbers(match["numbers"])]
    found += [Citation(str(paper))] if alone else []
    return list(dict.fromkeys(found))


def _numbers(text: str) -> Iterator[str]:
    text = re.sub(r"\s+to\s+", "-", text)
    for part in re.findall(rf"{_NUMBER}(?:-{_NUMBER})?", text):
        first, _, last = part.partition("-")
        if last and first.isdigit() and last.isdigit():
            yield from (str(n) for n in range(int(first), int(last) + 1))
        else:
            yield from (first, last) if last else (first,)


def uses() -> list[Use]:
    """Every use of an equation, sorted by paper and number."""
    found = {*_operators(), *_identities(), *_docstrings(), *_listings()}
    public = {use.citation for use in found if _is_public(use.where)}
    found = {use for use in found if _is_public(use.where) or use.citation not in public}
    return sorted(found, key=lambda use: (use.citation.place, use.where, use.what))


def _operators() -> Iterator[Use]:
    for row in table.SPARSE:
        source = f"{row.source}; {inspect.getdoc(row.entries)}"
        yield from _each(source, first_line(row.entries), f"operator `{row.name}`")
    for row in table.PROPAGATORS:
        meaning = f"(I - {row.kernel})^-1" + (" - I" if row.tilde else "")
        yield from _each(row.source, f"{row.name} = {meaning}", f"operator `{row.name}`")
    yield from _each("000 Eq. 34", "Omega = psi* H* D^-1 H psi", "operator `Omega`")
    for name, work in vectors.VECTORS.items():
        yield from _each(inspect.getdoc(work) or "", first_line(work), f"stacked vector `{name}`")


def _identities() -> Iterator[Use]:
    for identity in soacraft.identities():
        yield from _each(identity.source, identity.name, "[identity](identities.md)")


def _docstrings() -> Iterator[Use]:
    for module in _modules():
        if module.__name__ in (table.__name__, vectors.__name__, "soacraft.citations"):
            continue
        paper = "000" if module.__name__.startswith("soacraft.pycraft") else None
        for name, thing in _public(module):
            for citation in cited(inspect.getdoc(thing) or "", paper):
                yield Use(citation, first_line(thing), f"`{name}`")


def _listings() -> Iterator[Use]:
    """The listings run in two test files; each is marked there by a comment."""
    folder = Path(__file__).parents[2] / "tests" / "pycraft"
    test = ""
    for line in [line for path in sorted(folder.glob("test_listings*.py")) for line in path.read_text().splitlines()]:
        test = line.split("(")[0].removeprefix("def ") if line.startswith("def test_") else test
        match = re.fullmatch(r"\s+# Listing (\d+)(, and .*)?", line)
        if match:
            yield Use(Citation("000", "Listing", match[1]), "runs, misprints mended", f"`tests/pycraft`, `{test}`")


def _is_public(where: str) -> bool:
    """Whether users meet a name: those of modules inside the packages of the first level are for developers."""
    path = where.strip("`").split(".")
    return path[0] != "soacraft" or len(path) == 3 or ".".join(path[:3]) not in sys.modules


def _each(source: str, what: str, where: str) -> Iterator[Use]:
    for citation in cited(source):
        yield Use(citation, what, where)


def _modules() -> Iterator[Any]:
    for info in pkgutil.walk_packages(soacraft.__path__, "soacraft."):
        if not info.name.rpartition(".")[2].startswith("_"):
            yield importlib.import_module(info.name)


def _public(module: Any) -> Iterator[tuple[str, Any]]:
    """Functions and classes that a module defines, and the methods of its classes."""
    for name, thing in vars(module).items():
        mine = getattr(thing, "__module__", None) == module.__name__
        if name.startswith("_") or not mine or not (inspect.isfunction(thing) or inspect.isclass(thing)):
            continue
        path = _shortest(module.__name__, name, thing)
        yield path, thing
        if inspect.isclass(thing):
            for method, work in vars(thing).items():
                if not method.startswith("_") and (inspect.isfunction(work) or isinstance(work, property)):
                    yield f"{path}.{method}", work


def _shortest(module: str, name: str, thing: Any) -> str:
    """The shortest path a thing can be imported from: a package often lists what its modules define."""
    packages = module.split(".")
    for length in range(1, len(packages)):
        path = ".".join(packages[:length])
        if getattr(importlib.import_module(path), name, None) is thing:
            return f"{path}.{name}"
    return f"{module}.{name}"


def first_line(thing: Any) -> str:
    """The first sentence of a docstring without the citation and the cost in it."""
    line = (inspect.getdoc(thing) or "").split("\n")[0].removesuffix(":")
    for group in re.findall(r" \([^()]*(?:\([^()]*\)[^()]*)*\)", line):
        line = line.replace(group, "") if cited(group, "000") else line
    return re.sub(r"\. O\(.*$", "", line).rstrip(".")
