"""The text of SID_FEM files as blocks in blocks, each from its name to `end name`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from soacraft.flexible.readers.text import TextFile

#: Blocks in blocks.
DEPTH = 8
_INDEXED = re.compile(r"(\w{1,40})\s*\(\s*(\d{1,9})" + 3 * r"\s*(?:,\s*(\d{1,9}))?" + r"\s*\)")


@dataclass
class Block:
    """A block: its entries with their lines, those with indices, and the blocks in it."""

    name: str
    line: int
    value: str = ""
    entries: dict[str, tuple[int, str]] = field(default_factory=dict)
    indexed: list[tuple[int, str, tuple[int, ...], str]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def find(self, name: str) -> Block | None:
        """The block of a name in it."""
        return next((x for x in self.blocks if x.name.lower() == name.lower()), None)


def parsed(file: TextFile) -> Block:
    """The tree of blocks; what is before `part` is a comment."""
    top = Block("", 0)
    open_: list[Block] = [top]
    for k, line in file.lines():
        if not top.blocks and line.split() != ["part"]:
            continue
        name, equals, value = (x.strip() for x in line.partition("="))
        words = name.split()
        if words and words[0].lower() == "end" and not equals:
            if len(open_) == 1 or [open_[-1].name.lower()] != [x.lower() for x in words[1:]]:
                wanted = f"'end {open_[-1].name}'" if len(open_) > 1 else "a block"
                raise file.fail(k, f"{line!r:.40} ends no block here; {wanted} is expected.")
            open_.pop()
        elif words and (words[0].lower() == "new" or not equals):
            if len(words) > 2 or len(open_) > DEPTH or not all(re.fullmatch(r"\w{1,40}", x) for x in words):
                raise file.fail(k, f"{line!r:.40} begins no block; blocks have a name and are at most {DEPTH} deep.")
            block = Block(words[-1], k, value)
            open_[-1].blocks.append(block)
            open_.append(block)
        else:
            indexed = _INDEXED.fullmatch(name)
            if indexed is not None:
                index = tuple(int(x) for x in indexed.groups()[1:] if x is not None)
                open_[-1].indexed.append((k, indexed[1].lower(), index, value))
            elif not re.fullmatch(r"\w{1,40}", name) or name.lower() in open_[-1].entries:
                raise file.fail(k, f"{line!r:.40} is no entry, or one of that name is there already.")
            else:
                open_[-1].entries[name.lower()] = k, value
    if len(open_) > 1:
        raise file.fail(open_[-1].line, f"block {open_[-1].name!r} has no end.")
    return top


def rows_said(block: Block) -> str:
    """The number of rows that a block says it has."""
    return block.entries.get("nrow", (0, ""))[1]


def needed(file: TextFile, block: Block, name: str) -> Block:
    """The block of a name in a block, which must be there."""
    inner = block.find(name)
    if inner is None:
        raise file.fail(block.line, f"block {name!r} is missing{f' in {block.name!r}' if block.name else ''}.")
    return inner


def entry(file: TextFile, block: Block, name: str) -> tuple[int, str]:
    """An entry of a block with its line, which must be there."""
    if name not in block.entries:
        raise file.fail(block.line, f"{name!r} is missing in {block.name!r}.")
    return block.entries[name]
