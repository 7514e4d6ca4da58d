"""Work counted, not timed: multiplications of numpy by the sizes of its arrays, and lines of Python that run.

Batched blocks run the recursions of Python, which the compiled ones repeat. Here numpy is replaced, within soacraft, by
one whose arrays count what is done with them.
"""

import math
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import soacraft as sc

#: The folder whose lines count.
PACKAGE = str(Path(sc.__file__).parent)
#: Rooms whose arrays count.
ROOMS = ("algebra", "ops", "recursions", "model.flat")


class Counted(np.ndarray):
    """An array that counts the numbers that ufuncs compute, of matrix products the multiplications."""

    total = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Counted) else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Counted) else x for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        inner = plain[0].shape[-1] if ufunc is np.matmul else 1
        Counted.total += np.size(result) * inner
        return out[0] if out is not None else counted(result)


def counted(x):
    return x.view(Counted) if type(x) is np.ndarray else x


class Numpy:
    """numpy, whose functions give arrays that count."""

    def __init__(self, module, cubic=False):
        self._module, self._cubic = module, cubic

    def __getattr__(self, name):
        function = getattr(self._module, name)
        if name == "linalg":
            return Numpy(function, cubic=True)
        if isinstance(function, (type, np.ufunc)) or not callable(function):
            return function

        def called(*args, **kwargs):
            plain = [x.view(np.ndarray) if isinstance(x, Counted) else x for x in args]
            result = function(*(plain if self._cubic else args), **kwargs)
            first = plain[0] if plain and isinstance(plain[0], np.ndarray) else None
            if self._cubic and first is not None and first.ndim > 1:
                Counted.total += math.prod(first.shape[:-2]) * max(first.shape[-2:]) ** 3
            elif isinstance(result, np.ndarray):
                Counted.total += result.size
            return type(result)(*map(counted, result)) if hasattr(result, "_fields") else counted(result)

        return called


def installed(monkeypatch):
    """Replace numpy in the rooms, and compiled programs by the recursions they stand for."""
    from soacraft.ops.binding import ModelBinding

    shim = Numpy(np)
    for name, module in list(sys.modules.items()):
        if any(name.startswith(f"soacraft.{room}") for room in ROOMS) and getattr(module, "np", None) is np:
            monkeypatch.setattr(module, "np", shim)
    for name in ("columns", "block", "blocks", "product_call"):
        for kind in (ModelBinding, *_below(ModelBinding)):
            if name in vars(kind):
                monkeypatch.setattr(kind, name, lambda *args: None)


def _below(kind):
    return [x for each in kind.__subclasses__() for x in (each, *_below(each))]


@contextmanager
def work():
    """Counts what runs inside: `numbers` of numpy and `lines` of Python in soacraft."""
    counts, before = SimpleNamespace(numbers=0, lines=0), sys.gettrace()
    start = Counted.total

    def line(frame, event, arg):
        counts.lines += event == "line"
        return line

    def call(frame, event, arg):
        return line if frame.f_code.co_filename.startswith(PACKAGE) else None

    sys.settrace(call)
    try:
        yield counts
    finally:
        sys.settrace(before)
        counts.numbers = Counted.total - start
