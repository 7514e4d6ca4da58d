"""Flexible bodies: finite-element models of beams and frames, read or given, and their reduction to modes."""

from soacraft.flexible.beam import beam
from soacraft.flexible.fe import FEModel
from soacraft.flexible.frame import Member, frame
from soacraft.flexible.interfaces import Interface
from soacraft.flexible.materials import Elastic
from soacraft.flexible.reduce import reduce
from soacraft.flexible.sections import Circle, Rectangle, Section, Tube

__all__ = [
    "Circle",
    "Elastic",
    "FEModel",
    "Interface",
    "Member",
    "Rectangle",
    "Section",
    "Tube",
    "beam",
    "frame",
    "reduce",
]


def __dir__() -> list[str]:
    return __all__
