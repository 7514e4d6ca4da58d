"""Registers of a program: steps are first written with one register each, then registers are used again.

Steps are tuples (act, field, in, other, out, a, b) (`soacraft.ops.programs.steps`). Register 0 is the argument.
"""

from __future__ import annotations

Step = tuple[int, int, int, int, int, float, float]


def allotted(steps: list[Step], spaces: list[int], result: int, combine: int) -> tuple[list[Step], list[int]]:
    """The steps that lead to a result, in as few registers as they need, and the spaces of these registers.

    Every register of `steps` is written once; `spaces` are theirs. A register is free again after the step that reads
    it last; a step that combines may write where it reads. In what is returned 0 is the argument, 1 the result.
    """
    needed, kept = {result}, list[Step]()
    for step in reversed(steps):
        if step[4] in needed:
            needed.update((step[2], step[3]))
            kept.append(step)
    kept.reverse()
    last = {register: i for i, step in enumerate(kept) for register in step[2:4]}
    place, free, rooms = {0: 0, -1: -1, result: 1}, dict[int, list[int]](), [spaces[0], spaces[result]]
    written: list[Step] = []
    for i, (act, field, x, other, out, a, b) in enumerate(kept):
        done = [r for r in {x, other} if last[r] == i and place[r] > 1]
        if act == combine:
            _release(done, place, spaces, free)
        if out not in place:
            if not free.get(spaces[out]):
                rooms.append(spaces[out])
                free[spaces[out]] = [len(rooms) - 1]
            place[out] = free[spaces[out]].pop()
        if act != combine:
            _release(done, place, spaces, free)
        written.append((act, field, place[x], place[other], place[out], a, b))
    return written, rooms


def _release(registers: list[int], place: dict[int, int], spaces: list[int], free: dict[int, list[int]]) -> None:
    for register in registers:
        free.setdefault(spaces[register], []).append(place[register])
