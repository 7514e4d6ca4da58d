"""Tracebacks for IPython and notebooks: the user's lines and the message, without the frames of soacraft between them.

IPython asks an exception for `_render_traceback_`; nothing is hooked, and plain Python is not changed. `%xmode
Verbose`, then `%tb`, shows every frame.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from traceback import format_exception
from types import TracebackType

_HERE = str(Path(__file__).parent) + "/"
_INSTALLED = tuple({f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")})
#: The mode of IPython's `%xmode` in which nothing is hidden.
WHOLE = "Verbose"


def without_our_frames(trace: TracebackType | None) -> tuple[TracebackType | None, int]:
    """A traceback without the frames of soacraft, and of libraries below them, and how many these are.

    Frames of the user's own functions that soacraft called stay.
    """
    shown: list[TracebackType] = []
    count, inside = 0, False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        ours = file.startswith(_HERE)
        inside = inside or ours
        if ours or (inside and file.startswith(("<frozen", *_INSTALLED))):
            count += 1
        else:
            shown.append(trace)
        trace = trace.tb_next
    short: TracebackType | None = None
    for each in reversed(shown):
        short = TracebackType(short, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return short, count


def rendered(error: BaseException) -> list[str]:
    """The lines that IPython shows for an error, in the mode and colours that it is in."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    style = getattr(shell, "InteractiveTB", None)
    if style is None:
        return format_exception(error)
    if getattr(style, "mode", "") == WHOLE:
        return list(style.structured_traceback(type(error), error, error.__traceback__))
    before, hidden = [(x, x.__traceback__) for x in _chain(error)], 0
    try:
        for each, trace in before:
            short, count = without_our_frames(trace)
            each.__traceback__, hidden = short, hidden + count
        lines = list(style.structured_traceback(type(error), error, error.__traceback__))
    finally:
        for each, trace in before:
            each.__traceback__ = trace
    frames = f"{hidden} frame{'' if hidden == 1 else 's'} of soacraft hidden: %xmode {WHOLE}, then %tb, shows all"
    return [*lines[:-1], f"[{frames}]", *lines[-1:]] if hidden else lines  # the message stays last


def _chain(error: BaseException) -> list[BaseException]:
    """The error and those it was raised from, each once."""
    errors: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and all(each is not x for x in errors):
        errors.append(each)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return errors
