"""Damage to a text of numbers that knows its lines and words."""

from __future__ import annotations

from random import Random

from tests.fuzz import values


def damaged(rng: Random, data: bytes) -> bytes:
    """The text with one to a few lines or words changed, dropped, doubled or swapped."""
    lines = data.decode("ascii").split("\n")
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _hurt(rng, lines)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _hurt(rng: Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            del lines[at : at + rng.choice((1, 1, 3, 20))]
            lines.append("")
        case 1:
            lines[at:at] = lines[at : at + rng.choice((1, 1, 3, 20))]
        case 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines.insert(at, values.text(rng))
        case 4:
            lines[at] = values.one_changed(rng, lines[at])
        case _:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = values.number(rng)
            lines[at] = " ".join(words)
