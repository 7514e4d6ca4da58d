"""What was noticed must stay noticed: the mutants of the C++ code that a test noticed once, each with that test.

A campaign writes the file `ledger.json`, sorted by path and statement; the gate of every day draws from it. A statement
that was edited since then is another one: its entries leave the file with the next campaign.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tests.mutations.mutants import Mutant

FILE = Path(__file__).with_name("ledger.json")
#: Words of paths, each of a part of the core: the gate takes one mutant of each by turns, and of the files with none.
PARTS = ("contact", "loops", "sim/", "program", "rigid")

Ledger = dict[Mutant, str]


def read(file: Path = FILE) -> Ledger:
    """Every mutant that was noticed: the test function that noticed it, "" where it was none (a failed import)."""
    entries = ((path, entry) for path, own in json.loads(file.read_text()).items() for entry in own)
    return {Mutant(path, x["statement"], x["changed"], x.get("nth", 0)): x["noticed by"] for path, x in entries}


def write(ledger: Mapping[Mutant, str], file: Path = FILE) -> None:
    """The same order whatever the order of entries: a difference of two files shows what changed."""
    rows: dict[str, list[dict[str, object]]] = {}
    for mutant in sorted(ledger, key=lambda m: (m.path, m.statement, m.nth, m.changed)):
        nth = {"nth": mutant.nth} if mutant.nth else {}
        entry = {"statement": mutant.statement, **nth, "changed": mutant.changed, "noticed by": ledger[mutant]}
        rows.setdefault(mutant.path, []).append(entry)
    file.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def live(ledger: Mapping[Mutant, str], present: Collection[Mutant]) -> Ledger:
    """The entries that are mutants of the present code."""
    now = set(present)
    return {mutant: test for mutant, test in ledger.items() if mutant in now}


def drawn(
    ledger: Mapping[Mutant, str], count: int, seed: str, file: Path = FILE, words: Sequence[str] = PARTS
) -> list[Mutant]:
    """So many entries, by turns of each part of the code; others with another seed."""
    if len(ledger) < count:
        raise SystemExit(
            f"{file.name} has {len(ledger)} entries that are mutants of the present code, and {count} were asked for: "
            "write it anew with a campaign (see cpp.py and drawn.py)"
        )
    parts: dict[str, list[Mutant]] = {}
    for mutant in random.Random(seed).sample(sorted(ledger, key=lambda m: m.rank), len(ledger)):
        parts.setdefault(next((word for word in words if word in mutant.path), ""), []).append(mutant)
    turns = itertools.zip_longest(*(parts[word] for word in sorted(parts)))
    return [mutant for turn in turns for mutant in turn if mutant][:count]
