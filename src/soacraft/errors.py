"""The exception family. Every error soacraft raises for a user's mistake derives from `SoacraftError`.

The ones about arguments also derive from `ValueError` or `TypeError`, that about memory from `MemoryError`, so that
general code can catch them.
A message says what was tried, names the object and the value, and gives the likely cure.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType

__all__ = [
    "AlgebraicLoopError",
    "CampaignError",
    "CheckpointError",
    "ConvergenceError",
    "ExpressionError",
    "LinkError",
    "LoopError",
    "LostPeerError",
    "MissingPackageError",
    "ModelError",
    "ModelFileError",
    "SimulationError",
    "SingularError",
    "SizeError",
    "SoacraftError",
    "SpaceError",
    "StaleError",
    "StateError",
    "StructureError",
    "SystemFileError",
    "UnknownAttributeError",
    "ViewError",
    "WiringError",
]


class SoacraftError(Exception):
    """Base of every error raised by soacraft.

    Of a number that is not finite, `entry` is its index in an array of shape `shape`. Of an expression that is read
    from text, `place` is where in the text, from 0.
    """

    entry: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    place: int | None = None

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython and notebooks show: the frames of soacraft are hidden, `%xmode Verbose` shows all."""
        # only an error that is shown needs it
        from soacraft.tracebacks import rendered

        return rendered(self)


class ModelError(SoacraftError, ValueError):
    """A model cannot be built or changed as requested: a bad name, parent, hinge, inertia or block."""


class ModelFileError(ModelError):
    """A model file, or the name of a built-in model, cannot be read.

    `fault` is what is wrong, without the place; `where` is the element at fault. A reader that goes on without the
    element writes the fault into its report.
    """

    fault: str = ""
    where: object = None


class StateError(SoacraftError, ValueError):
    """A coordinate, velocity, acceleration or force vector is not acceptable for its model."""


class SizeError(SoacraftError, MemoryError):
    """A result would take more than half of the free memory; refused before anything is allocated."""


class SpaceError(SoacraftError, TypeError):
    """Operators or vectors of different spaces, sub-graphs or axes were combined."""


class ExpressionError(SoacraftError, ValueError):
    """The text of an expression cannot be read, or asks for what the workbench page does not do."""


class SingularError(SoacraftError, ArithmeticError):
    """A block that must be inverted is singular (a massless tip, a rank-deficient map), or one has no square root."""


class StructureError(SoacraftError, NotImplementedError):
    """An operator exists, but no sweep is known for the request: a product with an inverse of no known
    structure. Its dense matrix, `.array()`, may still be computed."""


class LoopError(SoacraftError, ValueError):
    """A loop closure was ignored, cannot be met, or is not of the kind asked for."""


class ConvergenceError(SoacraftError, RuntimeError):
    """An iteration did not reach its tolerance; the message holds the residual."""


class SimulationError(SoacraftError, RuntimeError):
    """A motion cannot be carried on: the step became too small, a number is not finite, a closure was lost, events
    follow each other without end.

    `t` is the time reached, `run` what was computed up to there.
    """

    t: float = float("nan")
    run: object = None


class LinkError(SimulationError):
    """Error in the exchange of a system with another program: late, an invalid packet, code that failed there.

    `peer` is the name of the other side.
    """

    peer: str = ""


class LostPeerError(LinkError):
    """The other side is gone: its process ended, or it gave no answer in time."""


class UnknownAttributeError(SoacraftError, AttributeError):
    """An attribute was set that the object does not have, or that cannot be set."""


class ViewError(SoacraftError, ValueError):
    """A picture cannot be made as asked: a name without a known end, a package that is not installed, no such time."""


class WiringError(SoacraftError, ValueError):
    """A component cannot be what was declared, or a system of components cannot be joined as asked.

    `faults` has each fault as a text, where several were seen at once. `unfilled` has those of inputs that nothing
    fills, by input.
    """

    faults: tuple[str, ...] = ()
    unfilled: Mapping[str, str] = MappingProxyType({})


class AlgebraicLoopError(WiringError):
    """Outputs of components depend on each other in a cycle, at one instant. `cycle` has their names in order."""

    cycle: tuple[str, ...] = ()


class CampaignError(SoacraftError, ValueError):
    """A campaign cannot be run, continued or judged as asked: a path that does not exist, a value outside its bounds, a
    folder of another campaign, too few runs."""


class CheckpointError(SoacraftError, ValueError):
    """A checkpoint cannot be written, or is not of what it is to be restored to: another class, model or log."""


class SystemFileError(WiringError):
    """A system file cannot be read or written, or contains what a file may not."""


class MissingPackageError(SoacraftError, ImportError):
    """An optional package, or part of soacraft, is not installed; the text has the line that installs it."""


class StaleError(SoacraftError, RuntimeError):
    """An expression or handle was made before a structural change of its model."""


def near(name: str, names: Iterable[str], have: str = "there are") -> str:
    """The end of a message about an unknown name: what is spelled alike, or what there is.

    >>> near("elbo", ["shoulder", "elbow"]), near("x", ["shoulder", "elbow"])
    ("; did you mean 'elbow'?", "; there are 'shoulder', 'elbow'.")
    """
    listed = list(islice(names, 2000))
    close = get_close_matches(name[:80], [each for each in listed if len(each) <= 80], n=3, cutoff=0.5)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; {have} {', '.join(map(repr, listed[:8])) or 'none'}{', ...' if len(listed) > 8 else ''}."


def __dir__() -> list[str]:
    return __all__
