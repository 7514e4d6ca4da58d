"""Output of the commands on terminals without UTF-8, and on disks that are full."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from contextlib import suppress

#: Characters of our tables, trees and pictures, in ASCII.
PLAIN = {
    "─": "-", "━": "-", "│": "|", "└": "`", "├": "|", "┌": "+", "┐": "+", "┘": "+", "┤": "|", "┬": "+", "┴": "+",
    "┼": "+", "█": "#", "▓": "%", "▒": "*", "░": ":", "·": ".", "✓": "+", "✗": "x", "…": "...", "→": "->", "←": "<-",
    "×": "x", "°": " deg", "–": "-", "—": "-", "’": "'", "≤": "<=", "≥": ">=",
}  # fmt: skip
#: Errors of writing to a disk that is full, or broken, or over its quota.
NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(x, "?") for x in error.object[error.start : error.end]), error.end


def use_known_characters() -> None:
    """Characters that a terminal cannot show are printed as ASCII, or as question marks."""
    codecs.register_error("soacraft.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None) or "ascii"
        if hasattr(stream, "reconfigure") and not _is_unicode(encoding):
            stream.reconfigure(errors="soacraft.plain")


def _is_unicode(encoding: str) -> bool:
    try:
        return "└─█✓".encode(encoding) is not None
    except (UnicodeEncodeError, LookupError):
        return False


def give_up_output() -> None:
    """Send the rest of the output nowhere, after no more can be written: Python flushes at its end."""
    with suppress(OSError, ValueError):  # an output that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
