"""Read many damaged files and say what became of them.

    python -m tests.fuzz.run --format urdf --count 10000 --seed 1 --out build/fuzz

Prints the counts, the slowest input, the most memory and every kind of failure. The first input of each kind is made
small and kept in the folder `--out`. Ends with 1 when there was a failure.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.cases import Case, make
from tests.fuzz.pool import Answer, Worker
from tests.fuzz.seeds import FORMATS
from tests.fuzz.shrink import shrink, signature

BATCH = 500
_MOST_FAILURES = 300


@dataclass
class Figures:
    """What became of the inputs of one format."""

    kind: str
    seed: int
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    broken: int = 0
    slowest: tuple[float, int] = (0.0, -1)
    megabytes: float = 0.0
    failures: dict[str, list[int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, number: int, answer: Answer) -> None:
        """Count an answer."""
        self.inputs += 1
        setattr(self, answer.outcome, getattr(self, answer.outcome) + 1)
        self.slowest = max(self.slowest, (answer.seconds, number))
        self.megabytes = max(self.megabytes, answer.megabytes)
        if answer.outcome == "broken":
            key = signature(answer.text)
            self.failures.setdefault(key, []).append(number)
            self.texts.setdefault(key, answer.text)

    def __str__(self) -> str:
        lines = [
            f"{self.kind}, seed {self.seed}: {self.inputs} inputs, {self.accepted} accepted, {self.refused} refused, "
            f"{self.broken} broken; slowest {self.slowest[0]:.2f} s (input {self.slowest[1]}), "
            f"peak {self.megabytes:.0f} MB"
        ]
        for key, numbers in self.failures.items():
            lines.append(f"  {len(numbers)} times (first: input {numbers[0]}): {self.texts[key]}")
        return "\n".join(lines)


def fuzz(worker: Worker, kind: str, count: int, seed: int, first: int = 0, say: bool = False) -> Figures:
    """Check `count` inputs of a format."""
    figures, begin = Figures(kind, seed), time.monotonic()
    for start in range(first, first + count, BATCH):
        for number, answer in worker.row(kind, seed, start, min(start + BATCH, first + count)):
            figures.add(number, answer)
        if say and start // BATCH % 10 == 9:
            print(f"[{time.monotonic() - begin:.0f} s] {figures}", flush=True)
        if figures.broken > _MOST_FAILURES:
            break
    return figures


def keep(figures: Figures, out: Path) -> None:
    """Save the first input of each kind of failure, made small."""
    for key, numbers in figures.failures.items():
        with Worker() as worker:
            case = make(figures.kind, figures.seed, numbers[0])
            fresh = worker.one(case)
            if signature(fresh.text) == key:
                case = shrink(case, lambda smaller: signature(worker.one(smaller).text) == key)  # noqa: B023
        folder = out / f"{figures.kind}-{figures.seed}-{numbers[0]}"
        _save(case, folder, figures.texts[key])


def _save(case: Case, folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    case.write(folder)
    (folder / "failure.txt").write_text(f"{text}\nload({case.main!r}, {json.dumps(case.options)})\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Load many damaged files and say what became of them.")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    given = parser.parse_args()
    with Worker() as worker:
        figures = fuzz(worker, given.format, given.count, given.seed, given.first, say=True)
    print(figures, flush=True)
    keep(figures, given.out)
    sys.exit(1 if figures.broken else 0)


if __name__ == "__main__":
    main()
