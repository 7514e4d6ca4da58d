"""Results of the solvers of closed chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.cards import card, part, says_why
from soacraft.errors import StaleError, StateError
from soacraft.loops.hinge_forces import HingeForces, hinge_forces
from soacraft.model.states.coordinates import Forces
from soacraft.model.tree.graph import Graph, ties_text
from soacraft.model.tree.names import v_place
from soacraft.spatial.checks import Array

Indices = npt.NDArray[np.intp]


class Rank(Protocol):
    """Rank of the rows at one state."""

    @property
    def rank(self) -> int: ...
    @property
    def condition(self) -> float: ...


class Info:
    """Diagnosis of the closures at the states of a result, computed when first read.

    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> s = sc.loops.TreeAugmented(mb)
    >>> r = s.forward_dynamics(s.assemble(mb.q), mb.v, np.zeros(mb.nv))
    >>> r.info.ranks, len(r.info.independent), len(r.info.redundant)
    ([3], 3, 3)
    """

    def __init__(
        self, independent: Callable[[], Indices], ranks: Callable[[], tuple[Sequence[Rank], tuple[str, ...]]]
    ) -> None:
        self._find_independent, self._find_ranks = independent, ranks

    @cached_property
    def independent(self) -> Indices:
        """The independent dofs at the first state, by number."""
        return self._find_independent()

    @cached_property
    def _ranks(self) -> tuple[list[int], list[float], tuple[str, ...]]:
        choices, redundant = self._find_ranks()
        return [x.rank for x in choices], [x.condition for x in choices], redundant

    @property
    def ranks(self) -> list[int]:
        """The rank of the constraint Jacobian at each state."""
        return self._ranks[0]

    @property
    def conditions(self) -> list[float]:
        """The condition number of the dependent dofs' part of the scaled rows at each state."""
        return self._ranks[1]

    @property
    def redundant(self) -> tuple[str, ...]:
        """Rows that repeat others in any of the states, by name."""
        return self._ranks[2]

    @property
    def is_known(self) -> bool:
        """True if ranks have been computed."""
        return "_ranks" in self.__dict__

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy knows all, and asks no solver."""
        return _known_info, (self.independent, self._ranks)


def _known_info(independent: Indices, ranks: tuple[list[int], list[float], tuple[str, ...]]) -> Info:
    info = Info(lambda: independent, lambda: ((), ()))
    info.__dict__.update(independent=independent, _ranks=ranks)
    return info


class Source(Protocol):
    """Data of all results of one solver and one choice of independent dofs."""

    @property
    def loops(self) -> tuple[str, ...]: ...
    @property
    def couplings(self) -> tuple[str, ...]: ...
    @property
    def dof_names(self) -> tuple[str, ...]: ...

    @property
    def moves_by(self) -> str:
        """Letter for each dof: r where it turns, m where it travels."""

    def graph(self) -> Graph:
        """The graph, if it is still as it was when the result was found."""

    def info(self, q: Array) -> Info:
        """Diagnosis of the closures at each configuration of a list."""


class Kept(NamedTuple):
    """A source that asks no solver: what a copied result has."""

    loops: tuple[str, ...]
    couplings: tuple[str, ...]
    dof_names: tuple[str, ...]
    moves_by: str
    known: Info

    def graph(self) -> Graph:
        """None: what hinge forces are computed from stayed with the original."""
        raise StaleError("a copied result has no model to compute hinge forces with; ask the original, or solve again.")

    def info(self, q: Array) -> Info:
        """Diagnosis as it was when the result was copied."""
        return self.known


class Result:
    """Accelerations and constraint forces of a closed chain; leading axes as those of the arguments.

    `residual` is computed from the answer, as the larger of

        |Gc vdot + Gcdot v - Udot|, relative to the largest of |Gcdot v|, |vdot|, w^2, |constraint force| / inertia
        |inverse dynamics(vdot, constraint forces) - force|, relative to the largest of both, |constraint force|,
        inertia w^2

    all in radians and in lengths of loops and of the model, with w how fast it moves, or gravity and forces would let
    it move, and the inertia that of its mass on its length. So the number is the same in all units.
    """

    # Compiled code fills all but `_hinge_forces` and `_info`, without a call of Python.
    __slots__ = (
        "__weakref__",
        "_hinge_forces",
        "_info",
        "_loads",
        "_numbers",
        "_passive",
        "_source",
        "_theta",
        "vdot",
    )

    def __init__(self, vdot: Array, rest: Array, source: Source) -> None:
        self.vdot = vdot
        """(..., nv), of all dofs of the tree."""
        self._numbers: Array | bytes = rest
        self._source = source
        self._theta: Array | None = None  # the coordinates of the closures' hinges, for the next call
        self._loads: Forces | None = None  # external; None where none but the model's gravity compensation act
        self._passive = True  # whether that does, and springs between nodes

    @property
    def _rest(self) -> Array:
        """Forces of loops and couplings, residuals of closures and motion, q, v."""
        if isinstance(self._numbers, bytes):
            self._numbers = np.frombuffer(self._numbers).copy()
        return self._numbers

    @property
    def multipliers(self) -> Mapping[str, Array]:
        """Multipliers by name: of a loop the wrench [moment; force] on its frame b at b, in the axes of its frame a,
        (..., 6); of a coupling the number lambda (...), which pushes each dof by -p'(q) lambda. With redundant rows the
        ones of least norm in the rows, which depends on units; their sum on the bodies does not.
        """
        by_name: dict[str, Array] = {}
        at = 0
        for name in self._source.loops:
            by_name[name] = self._rest[..., at : at + 6]
            at += 6
        for name in self._source.couplings:
            by_name[name] = self._rest[..., at]
            at += 1
        return by_name

    @property
    def residual_of_closures(self) -> Any:
        """Residual of the closures: a number, in a batch an array."""
        return self._rest[..., self._forces][()]

    @property
    def residual_of_motion(self) -> Any:
        """Residual of the equations of motion: a number, in a batch an array."""
        return self._rest[..., self._forces + 1][()]

    @property
    def residual(self) -> Any:
        """The larger of the two residuals: a number, in a batch an array of numbers."""
        return np.maximum(self.residual_of_closures, self.residual_of_motion)[()]

    # -- forces through hinges, accelerations by name --------------------------------------------------------------

    @property
    def hinge_forces(self) -> HingeForces:
        """The reactions of all hinges, cut ones too: `r.hinge_forces["crank"]` by body, hinge or loop, at any node and
        in any axes by `.at(...)`. Computed when first asked for.
        """
        if not hasattr(self, "_hinge_forces"):
            graph, split = self._source.graph(), self._forces + 2 + self._source.graph().nq
            q, v = self._rest[..., self._forces + 2 : split], self._rest[..., split:]
            forces = hinge_forces(graph, q, v, self.vdot, self.multipliers, self._loads, self._passive)
            self._hinge_forces = forces
        return self._hinge_forces

    @property
    def units(self) -> tuple[str, ...]:
        """The units of vdot, by dof."""
        return tuple("rad/s^2" if letter == "r" else "m/s^2" for letter in self._source.moves_by)

    def __getitem__(self, name: Any) -> Any:
        """The acceleration of a dof, (...), or of all dofs of a hinge or body, (..., n), by name."""
        if isinstance(name, str) and name in self._source.dof_names:
            return self.vdot[..., self._source.dof_names.index(name)][()]
        return self.vdot[..., v_place(self._source.graph(), name)]

    def table(self) -> str:
        """The accelerations by dof with their units, and the multipliers of loops and couplings, as text; of one state.

        >>> import soacraft as sc
        >>> mb = sc.load("double_pendulum")
        >>> loose = mb.couple("gear", {"upper": 1, "lower": -2})
        >>> r = sc.loops.ConstraintEmbedding(mb).forward_dynamics([0.2, 0.1], [0, 0], [0, 0])
        >>> print(r.table())
        dof    vdot      unit
        upper  -1.1398   rad/s^2
        lower  -0.5699   rad/s^2
        gear   ...       multipliers
        """
        if self.vdot.ndim > 1:
            raise StateError(f"a table shows one state, and this is a batch {self.vdot.shape[:-1]}; take vdot[i].")
        names, units = self._source.dof_names, self.units
        rows = [(name, f"{x:.6g}", unit) for name, x, unit in zip(names, self.vdot + 0.0, units, strict=True)]
        rows += [(name, _shown(x), "multipliers") for name, x in self.multipliers.items()]
        rows = [("dof", "vdot", "unit"), *rows]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)

    @property
    def info(self) -> Info:
        """Rank, redundant rows, independent dofs and condition at its states."""
        if not hasattr(self, "_info"):
            self._info = self._source.info(self._q)
        return self._info

    @property
    def rank(self) -> Any:
        """Rank of the constraint Jacobian: a number, in a batch an array of numbers."""
        batch = self.vdot.shape[:-1]
        return np.reshape(self.info.ranks, batch).astype(int) if batch else self.info.ranks[0]

    @property
    def redundant(self) -> tuple[str, ...]:
        """Rows that repeat others, by name (in a batch: in any of the states)."""
        return self.info.redundant

    @property
    def condition(self) -> Any:
        """The condition number of the scaled rows on the dependent dofs: a number, in a batch an array of numbers. It
        grows without bound towards a configuration where the rank changes, and so does what rounding does to vdot.
        """
        batch = self.vdot.shape[:-1]
        return np.reshape(self.info.conditions, batch) if batch else self.info.conditions[0]

    @property
    def independent(self) -> tuple[str, ...]:
        """The names of the independent dofs (in a batch: at its first state)."""
        return tuple(self._source.dof_names[i] for i in self.info.independent)

    @property
    def vdot_independent(self) -> Array:
        """The accelerations of the independent dofs, (..., mobility)."""
        return np.asarray(self.vdot[..., self.info.independent])

    @property
    def _forces(self) -> int:
        return 6 * len(self._source.loops) + len(self._source.couplings)

    @property
    def _q(self) -> Array:
        q = self._rest[..., self._forces + 2 : self._rest.shape[-1] - self.vdot.shape[-1]]
        return q.reshape(math.prod(q.shape[:-1]), q.shape[-1])

    def __reduce__(self) -> tuple[Any, ...]:
        source = self._source
        source_parts = Kept(source.loops, source.couplings, source.dof_names, source.moves_by, self.info)
        return Result, (self.vdot, self._rest, source_parts)

    def __repr__(self) -> str:
        batch = self.vdot.shape[:-1]
        ties = ties_text(len(self._source.loops), len(self._source.couplings))
        shape = f", batch {batch}" if batch else ""
        lines = [
            f"Result: {self.vdot.shape[-1]} dofs{ties and f', {ties}'}{shape}; {self._rank_text()}"
            f"residual {np.max(self.residual, initial=0.0):.1e}"
        ]
        if not batch:
            lines.append(f"vdot: {_shown(self.vdot)}")
            lines += [f"{name!r}: {_shown(x)}" for name, x in list(self.multipliers.items())[:12]]
        if self.info.is_known and self.redundant:
            lines.append(f"redundant: {'; '.join(self.redundant[:12])}{' ...' if len(self.redundant) > 12 else ''}")
        return "\n".join(lines)

    @says_why
    def _repr_html_(self) -> str:
        head, *rest = repr(self).splitlines()
        notes = [markup.paragraph(line) for line in rest if line.startswith("redundant: ")]
        if self.vdot.ndim > 1:
            return card(head, *notes)
        names, units = self._source.dof_names, self.units
        moves = [(name, f"{x:.6g}", unit) for name, x, unit in zip(names, self.vdot + 0.0, units, strict=True)]
        ties = [(name, _shown(x)) for name, x in self.multipliers.items()]
        multiplier_table = markup.table(["loop or coupling", "multipliers"], ties)
        return card(
            head,
            part("accelerations", lambda: markup.table(["dof", "vdot", "unit"], moves), True),
            part("forces of closures", lambda: multiplier_table, True),
            *notes,
        )

    def _rank_text(self) -> str:
        try:
            rank = self.rank
        except StaleError:
            return ""
        shown = rank if np.ndim(rank) == 0 else f"{np.min(rank)} to {np.max(rank)}" if np.size(rank) else "none"
        return f"rank {shown}, "


def _shown(x: Array) -> str:
    return np.array2string(np.asarray(x) + 0.0, precision=6, suppress_small=True, threshold=40)
