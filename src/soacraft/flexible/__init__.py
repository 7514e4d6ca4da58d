"""Flexible bodies: finite-element models of beams, frames and solids, made or given, and their reduction to modes."""

from typing import TYPE_CHECKING

from soacraft.flexible.archives import read, save
from soacraft.flexible.beams import beam
from soacraft.flexible.compare import EffectiveMass, effective_mass, mac
from soacraft.flexible.fe import FEModel
from soacraft.flexible.frames import Member, frame
from soacraft.flexible.functions import shapes
from soacraft.flexible.given import matrices
from soacraft.flexible.interfaces import Interface
from soacraft.flexible.materials import Elastic
from soacraft.flexible.pieces import substructure
from soacraft.flexible.readers.matrices import read_matrix
from soacraft.flexible.reduction import reduce
from soacraft.flexible.reference import rereference
from soacraft.flexible.reports import Report, report
from soacraft.flexible.sections import Circle, Rectangle, Section, Tube
from soacraft.flexible.solids import solid
from soacraft.hints import lookup

__all__ = [
    "Circle",
    "EffectiveMass",
    "Elastic",
    "FEModel",
    "Interface",
    "Member",
    "Rectangle",
    "Report",
    "Section",
    "Tube",
    "beam",
    "effective_mass",
    "frame",
    "mac",
    "matrices",
    "read",
    "read_matrix",
    "reduce",
    "report",
    "rereference",
    "save",
    "shapes",
    "solid",
    "substructure",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__
