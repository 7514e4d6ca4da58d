"""Twins: equations in compiled form, C functions of one signature, which runs call in the place of Python.

    void f(const double *const *in, const double *p, double *out, int64_t n)

`in[i]` is the i-th argument of the equation, parameters left out; `p` has the numbers of the parameters in the order of
their fields; `out` takes the n numbers of what the equation gives. Numbers are doubles, arrays lie row by row.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import msgspec

from soacraft.errors import WiringError

_DOUBLES = ctypes.POINTER(ctypes.c_double)
TwinFunction = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DOUBLES), _DOUBLES, _DOUBLES, ctypes.c_int64)
"""The type of twins, of ctypes: `sim.TwinFunction(address)`, or a function of a library given this type."""


def read_twin(given: Any, what: str) -> Any:
    """A twin as it was given, or an error."""
    if given is None or isinstance(given, TwinFunction):
        if given is not None and not ctypes.cast(given, ctypes.c_void_p).value:
            raise WiringError(f"the twin of {what} is a function at address 0.")
        return given
    raise WiringError(
        f"the twin of {what} must be a sim.TwinFunction, made of the address of a C function, got {given!r:.60}."
    )


def address_of(twin: Any) -> int:
    """Address of a compiled function."""
    return int(ctypes.cast(twin, ctypes.c_void_p).value or 0)


def numbers_of(p: Any) -> tuple[float, ...] | None:
    """Parameters as a twin has them: numbers and truth values in the order of the fields, those of a tuple one after
    the other, NaN for None and for texts; None where there is anything else.

    >>> import soacraft as sc
    >>> numbers_of(sc.sim.Gain(gain=2.0).p), numbers_of(sc.sim.Constant(value=(1.0, 2.0)).p)
    ((2.0, nan), (1.0, 2.0, nan))
    """
    numbers: list[float] = []
    for value in msgspec.structs.astuple(p):
        for x in value if isinstance(value, tuple | list) else (value,):
            if isinstance(x, float | int):
                numbers.append(float(x))
            elif x is None or isinstance(x, str):
                numbers.append(math.nan)
            else:
                return None
    return tuple(numbers)


def call_twin(twin: Any, given: list[Any], p: tuple[float, ...], n: int) -> list[float]:
    """Value of a twin for arguments, each an array of doubles; O(1) calls of ctypes, for checks."""
    arrays = [(ctypes.c_double * max(1, len(x)))(*x) for x in given]
    pointers = (_DOUBLES * max(1, len(arrays)))(*(ctypes.cast(x, _DOUBLES) for x in arrays))
    out = (ctypes.c_double * max(1, n))()
    twin(pointers, (ctypes.c_double * max(1, len(p)))(*p), out, n)
    return list(out[:n])
