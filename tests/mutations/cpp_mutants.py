"""Mutants of the C++ code: one sign, term, component or condition changed, chosen by a number when the program runs.

Every statement that fits on a line gives candidates. A candidate replaces its line by one that holds both forms,

    x += y;      ->   { if (soacraft_mutant == 7) { x -= y; } else { x += y; } }
    T x = a + b; ->   T x = soacraft_mutant == 7 ? (a - b) : (a + b);
    return a;    ->   { if (soacraft_mutant == 7) { return b; } else { return a; } }
    if (a)       ->   if (soacraft_mutant == 7 ? !(a) : (a))

so that one build holds them all; a line may hold several. A mutant is known by its file, its statement and what became
of it, not by a line number: edits elsewhere leave it as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from tests.mutations.mutants import Mutant, spread

#: Headers for C++ programs, of which Python's module has little or nothing: `core/tests/files_test.cpp` and
#: `tests/examples/test_cpp.py` look at them. And the core's own tests.
LEFT_OUT = (
    "soacraft/files/", "soacraft/multibody.hpp", "soacraft/expression.hpp", "soacraft/rigid/model/bodies.hpp",
    "core/tests/",
)  # fmt: skip

#: The number of the mutant that is tried, 0 for none.
SWITCH = "soacraft_mutant"

_EXPRESSION = re.compile(r"^(?P<left>[\w.\->\[\]()*+ ,]*?\S) (?P<how>=|\+=|-=|\*=) (?P<right>[^={].*);$")
_TYPES = "T|double|bool|index|int|Vec<T>|Spatial<T>"
_DECLARATION = re.compile(rf"^(?P<left>(?:const )?(?:{_TYPES}) \w+) = (?P<right>[^{{,]+);$")
_RETURN = re.compile(r"^return (?P<right>[^;]+);$")
_IF = re.compile(r"^(?P<head>(?:\} )?(?:else )?if \()(?P<condition>.+)$")
_COMPUTED = re.compile(r"^(?!.*\bif constexpr).*\bconstexpr\b.*\{$")
_SIGNS = re.compile(r"(?<=[\w)\]]) ([+-]) (?=[\w(\-])")
_COMPARISONS = re.compile(r" (<=|>=|<|>|==|!=|&&|\|\|) ")
_COMPONENT = re.compile(r"\.([xyzwv])\b(?!\()")
_OTHER = dict(zip("+ - < <= > >= == != && ||".split(), "- + <= < >= > != == || &&".split(), strict=True))
_NEXT = {"x": "y", "y": "z", "z": "x", "w": "v", "v": "w"}


def both(statement: str, changed: Sequence[tuple[int, str]]) -> str:
    """A statement that is itself or, by number, one of those that it was changed to."""
    condition = _IF.match(statement)
    if condition:
        old, rest = _closed(condition["condition"])
        new = ((n, _closed(_IF.match(text)["condition"])[0]) for n, text in changed)  # type: ignore[index]
        return f"{condition['head']}{_choice(new, old)}){rest}"
    declared = _DECLARATION.match(statement)
    if declared:
        right = ((n, _DECLARATION.match(text)["right"]) for n, text in changed)  # type: ignore[index]
        return f"{declared['left']} = {_choice(right, declared['right'])};"
    others = "".join(f"if ({SWITCH} == {n}) {{ {text} }} else " for n, text in changed)
    return f"{{ {others}{{ {statement} }} }}"


def _choice(changed: Iterable[tuple[int, str]], old: str) -> str:
    return "".join(f"{SWITCH} == {n} ? ({text}) : " for n, text in changed) + f"({old})"


def mutants(root: Path) -> list[Mutant]:
    """All mutants of the C++ code, in an order of their own that mixes the files."""
    found = [mutant for path in _files(root) for mutant in _of_file(root, path)]
    return sorted(found, key=lambda mutant: mutant.rank)


def sample(root: Path, count: int, least: int = 1) -> list[Mutant]:
    """So many mutants of the C++ code, spread over its files."""
    return spread(mutants(root), count, least)


def _files(root: Path) -> Iterator[str]:
    """Every file of the core but those that are left out: new code joins by being there."""
    files = sorted(p for p in (root / "core").rglob("*") if p.suffix in (".hpp", ".cpp"))
    paths = (p.relative_to(root).as_posix() for p in files)
    yield from (p for p in paths if not any(part in p for part in LEFT_OUT))


def _of_file(root: Path, path: str) -> Iterator[Mutant]:
    for _, text, nth in _statements((root / path).read_text().splitlines()):
        yield from (Mutant(path, text, changed, nth) for changed in _changes(text))


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, str, int]]:
    """The lines that are statements by themselves: number, text, and how many like it come before.

    What the compiler computes (functions that are `constexpr`) is left out: a number chosen when the program runs
    cannot reach it.
    """
    seen = Counter[str]()
    before, closing = "", ""
    for i, line in enumerate(lines):
        text = _code(line)
        if closing:
            closing = "" if line.startswith(closing) else closing
        elif _COMPUTED.match(text):
            closing = line[: len(line) - len(line.lstrip())] + "}"
        elif _stands_alone(text, before):
            yield i, text, seen[text]
            seen[text] += 1
        before = text or before


def _code(line: str) -> str:
    """A line without its comment."""
    return line.split("//")[0].strip()


def _stands_alone(text: str, before: str) -> bool:
    """Whether a line is a statement by itself: nothing of it is on the lines around."""
    if not text or text.startswith(("#", "for", "while", "using", "static", "template", "case", "else if constexpr")):
        return False
    if before.endswith(("\\", ",", "=", "+", "-", "?", ":", "&&", "||", "(", "<<")) or text.endswith("\\"):
        return False
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]")) and "constexpr" not in text


def _changes(text: str) -> Iterator[str]:
    """What a statement can be changed to."""
    condition = _IF.match(text)
    if condition:
        inside, rest = _closed(condition["condition"])
        if ";" in inside:  # it declares something first
            return
        yield f"{condition['head']}!({inside})){rest}"
        for place in _COMPARISONS.finditer(inside):
            yield f"{condition['head']}{_swapped(inside, place)}){rest}"
        return
    simple = _EXPRESSION.match(text)
    if simple and not _bare(simple["left"]).count(" "):
        if simple["how"] in ("+=", "-="):
            yield text.replace(f" {simple['how']} ", f" {_OTHER[simple['how'][0]]}= ", 1)
            if text.count("=") == 1:
                yield ""
    elif not (_DECLARATION.match(text) or _RETURN.match(text)):
        return
    start = text.index("=") if simple or "return" not in text else 0
    for pattern in (_SIGNS, _COMPARISONS):
        for place in pattern.finditer(text, start):
            yield _swapped(text, place)
    for place in _COMPONENT.finditer(text, start):
        yield text[: place.start(1)] + _NEXT[place[1]] + text[place.end(1) :]


def _swapped(text: str, place: re.Match[str]) -> str:
    return text[: place.start(1)] + _OTHER[place[1]] + text[place.end(1) :]


def _bare(left: str) -> str:
    """The left side without what is in brackets."""
    while (shorter := re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", left)) != left:
        left = shorter
    return left.strip()


def _closed(text: str) -> tuple[str, str]:
    """What is inside the parenthesis that is open at the beginning, and what follows it."""
    depth = 1
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[:i], text[i + 1 :]
    raise ValueError(text)


def plant(root: Path, chosen: Sequence[Mutant], numbers: Collection[int]) -> None:
    """Put those of the numbers, counted from 1 in the order given, into the files of a copy of the tree; a file that
    holds mutants already is left as it is.
    """
    wanted: dict[str, dict[tuple[str, int], list[tuple[int, str]]]] = {}
    for number, mutant in enumerate(chosen, start=1):
        if number in numbers:
            wanted.setdefault(mutant.path, {}).setdefault(mutant.place, []).append((number, mutant.changed))
    for path, places in wanted.items():
        text = (root / path).read_text()
        if SWITCH in text:
            continue
        lines = text.splitlines()
        for i, statement, nth in list(_statements(lines)):
            if changed := places.get((statement, nth)):
                lines[i] = both(statement, changed)
        (root / path).write_text("\n".join(lines) + "\n")
