"""Count habits of prose and names in the source, per package: `python scripts/words.py`; `--places PACKAGE` lists them.

Three tables: docstrings that begin with neither a noun nor a verb, assignments to names that do not say what they hold,
and phrases that a reader has to translate. `tests/test_words.py` holds each count to a budget that may only fall.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/soacraft"

#: First words of docstrings that are not the noun or the verb of a sentence.
OPENINGS = tuple(
    """
    What Whether Those Of How Which Where That Why When Who Whose So Not With Without By For From In Into At On As To
    Between Along Before After Within Under Over Through Until While If Its Their It They Either Neither Something
    Everything Nothing Made Kept Refused Worked Told Given Left
    """.split()
)
#: Kinds of docstrings: of modules; of classes, functions and methods; of fields and constants; comments above code.
DOCSTRINGS = ("modules", "others", "fields", "comments")
_COMMENT = re.compile(r"\s*#:? ")
_OPENING = re.compile(rf"(?:{'|'.join(OPENINGS)}|The same)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"[A-Z]")

#: Names that do not say what they hold.
NAMES = tuple("found told given made known own left kept mine whole where".split())

#: Phrases of prose that a stranger has to translate.
PHRASES = tuple("is told|as told|stands|hangs|anew|besides|what is left|of its own".split("|"))
_PHRASE = re.compile(r"\b(" + "|".join(PHRASES).replace(" ", r"\s+") + r")\b", re.IGNORECASE)

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def forbidden(docstring: str) -> bool:
    """True if a docstring begins with a word of `OPENINGS`, written as the first word of a sentence."""
    text = docstring.lstrip()
    return bool(_CAPITAL.match(text) and _OPENING.match(text))


def docstrings(tree: ast.Module) -> Iterator[tuple[_Documented, int, str]]:
    """Nodes with a docstring: the node, the line of the docstring, its text."""
    for node in ast.walk(tree):
        if isinstance(node, _Documented) and (text := ast.get_docstring(node)):
            yield node, node.body[0].lineno, text


def fields(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of fields and constants, the texts below them: their lines and texts."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body[1:] if isinstance(body, list) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value


def comments(text: str) -> Iterator[tuple[int, str]]:
    """First lines of the comments that have lines of their own: their numbers and texts."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        match = _COMMENT.match(line)
        if match and not inside:
            yield number, line[match.end() :]
        inside = bool(match)


def assigned(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names of variables that are assigned, in loops and unpacking too, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def phrases(text: str) -> Iterator[tuple[str, int]]:
    """Phrases of `PHRASES` in a text, with their lines."""
    for match in _PHRASE.finditer(text):
        yield " ".join(match[1].lower().split()), text.count("\n", 0, match.start()) + 1


def habits(text: str) -> Iterator[tuple[str, str, int]]:
    """Habits in the text of a Python file: the kind (`openings`, `names`, `phrases`), which one, and its line."""
    tree = ast.parse(text)
    for node, line, docstring in docstrings(tree):
        if forbidden(docstring):
            yield "openings", "modules" if isinstance(node, ast.Module) else "others", line
    yield from (("openings", "fields", line) for line, docstring in fields(tree) if forbidden(docstring))
    yield from (("openings", "comments", line) for line, comment in comments(text) if forbidden(comment))
    yield from (("names", name, line) for name, line in assigned(tree) if name in NAMES)
    yield from (("phrases", phrase, line) for phrase, line in phrases(text))


def package(path: Path, source: Path = SOURCE) -> str:
    """Package of a file, `top` for the modules beside the packages."""
    parts = path.relative_to(source).parts
    return parts[0] if len(parts) > 1 else "top"


def count(source: Path = SOURCE) -> dict[str, Counter[tuple[str, str]]]:
    """Counts of (kind, habit) by package, for all Python files below a folder."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for path in sorted(source.rglob("*.py")):
        rows = counts.setdefault(package(path, source), Counter())
        rows.update((kind, habit) for kind, habit, _ in habits(path.read_text(encoding="utf-8")))
    return counts


#: Folders of what is built.
BUILT = {"_build", "build", "generated", "jupyter_execute"}


def count_phrases(folder: Path, *endings: str) -> Counter[str]:
    """Counts of phrases in all files below a folder with one of these endings; built pages are left out."""
    files = (x for x in folder.rglob("*") if x.suffix in endings and not BUILT & {*x.parts})
    return Counter(phrase for path in files for phrase, _ in phrases(path.read_text(encoding="utf-8")))


def table(kind: str, columns: tuple[str, ...], counts: dict[str, Counter[tuple[str, str]]]) -> str:
    """Table of one kind of habit: a row for each package, then the sums."""
    rows = [[name, *(c[kind, column] for column in columns)] for name, c in sorted(counts.items())]
    rows = [[*row, sum(row[1:])] for row in rows]
    rows.append(["all", *(sum(row[i] for row in rows) for i in range(1, len(columns) + 2))])
    cells = [[kind, *columns, "sum"], *([str(x) for x in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    )


def main(arguments: list[str]) -> None:
    """Print the tables, or after `--places` the places of one package."""
    if arguments[:1] == ["--places"]:
        for path in sorted(SOURCE.rglob("*.py")):
            if package(path) in arguments[1:]:
                for kind, habit, line in habits(path.read_text(encoding="utf-8")):
                    print(f"{path.relative_to(ROOT)}:{line}: {kind}: {habit}")
        return
    counts = count()
    print(table("openings", DOCSTRINGS, counts), end="\n\n")
    print(table("names", NAMES, counts), end="\n\n")
    for folder, endings in (("docs", (".md",)), ("core", (".hpp", ".cpp"))):
        counted = count_phrases(ROOT / folder, *endings)
        counts[f"{folder}/"] = Counter({("phrases", phrase): n for phrase, n in counted.items()})
    print(table("phrases", PHRASES, counts))


if __name__ == "__main__":
    main(sys.argv[1:])
