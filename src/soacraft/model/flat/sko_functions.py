"""SKO models whose blocks are functions of coordinates: any model of 004 section 8.1, with a state.

    V = A*(q) H*(q) v,   alpha = A* (H* vdot + a),   f = A (M alpha + b),   T = H f

Unless `a` is given it is computed, since alpha is the rate of V:

    a(k) = dA*(p,k) V(p) + dH*(k) v(k)           rates along v

Derivatives of A, H and M are functions of the user's, or central differences of order four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, StateError
from soacraft.model.flat.sko import EntryUnits, OfState, OfStates, SKOModel
from soacraft.model.flat.sko_bias import bias, is_turning
from soacraft.model.flat.sko_differences import check_rates, difference
from soacraft.order import in_order, order_of
from soacraft.spatial.checks import finite, frozen

Array = npt.NDArray[np.float64]
Blocks = list[Array | None]

#: Configurations at which derivatives that a user gives are compared with differences: the first ones they serve at.
CHECKED = 3


class Rates(NamedTuple):
    """Derivatives of the blocks along a velocity; None for a kind that is constant."""

    A: Blocks | None
    H: Blocks | None
    M: Blocks | None


class SKOFunctions(SKOModel):
    """An SKO model of functions, made by `sc.SKOModel`; it has a state q, v, vdot and its operators follow it.

    Each of A, H and M is a list of blocks, one for each node, or a function of q that gives such a list; a and b are
    lists or functions of (q, v). `q` is what the state begins with, and says how many coordinates there are. `dA`, `dH`
    and `dM` are functions of (q, w): how the blocks change along the velocity w; those not given are central
    differences of step `step`, in the units of the coordinates. Coordinates are moved by q + w, or by `integrate(q, w)`
    where velocities are not their rates. Sizes of blocks stay as they are.

    The equations of motion are those above, with b as it is given. Without it b follows from the kinetic energy (for
    one dof dM/dq v^2 / 2), as Lagrange's equations have it, at the cost of a rate of M for each dof; where velocities
    are not rates of coordinates it must be given. `dA`, `dH` and `dM` are compared with differences when they are first
    used, and refused where they are no derivatives; `check=False` takes them as they are.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> def A(q):                                      # a point mass on a crank of length one, in a plane
    ...     return [None, [[-np.sin(q[0]), np.cos(q[0])]]]
    >>> crank = sc.SKOModel([-1, 0], A, H=[[[1.0]], np.zeros((0, 2))], M=[[[0.5]], 3.0 * np.eye(2)], q=[0.3])
    >>> s = sc.operators(crank)
    >>> float((s.H * s.phi * s.M * s.phi.T * s.H.T).array()[0, 0])                     # 0.5 + 3
    3.5
    >>> sc.dynamics.forward_dynamics(crank, [0.3], [1.0], [7.0])
    array([2.])

    A point mass in polar coordinates, M = diag(m, m r^2): the force of its rotation is r omega^2.

    >>> polar = sc.SKOModel([-1], [None], [np.eye(2)], lambda q: [np.diag([2.0, 2.0 * q[0] ** 2])], q=[1.5, 0.0])
    >>> sc.dynamics.forward_dynamics(polar, [1.5, 0.0], [0.4, 2.0], [0.0, 0.0]).round(6)
    array([ 6.      , -1.066667])
    """

    _set_once = frozenset({"tree", "dims", "nvs", "nq"})
    _cures: ClassVar = {"*": "what can be set is its state, q, v and vdot"}

    def _begin(
        self,
        parents: Sequence[int],
        blocks: dict[str, Any],
        names: Sequence[str] | None,
        units: tuple[Sequence[str], Sequence[str]] | None,
        of_state: OfStates,
    ) -> None:
        q, v, vdot, dA, dH, dM, integrate, step, check = of_state
        if q is None:
            raise ModelError("an SKO model of functions needs q=: the coordinates that its state begins with.")
        start = frozen(finite(q, (None,), "q of this SKO model", StateError))
        self._given = blocks
        self._rates: dict[str, OfState | None] = {"A": dA, "H": dH, "M": dM}
        self._integrate, self._step = integrate, float(step)
        if not (np.isfinite(self._step) and self._step > 0.0):
            raise ModelError(f"the step of differences must be positive, got {step!r:.60}.")
        if not isinstance(check, bool | np.bool_):
            raise ModelError(f"check must be True or False, got {check!r:.60}.")
        self._unchecked = dict.fromkeys("AHM", CHECKED if check else 0)
        self._turning, self._looked_at = False, 0
        self._labels, self._words = names, units
        self._parents = tuple(parents)
        first = self._model(*(self._blocks(x, start) for x in "AHM"))
        self.tree, self.dims, self.nvs, self.nq = first.tree, first.dims, first.nvs, len(start)
        if integrate is None and self.nq != self.nv:
            raise ModelError(
                f"this SKO model has {self.nq} coordinates and {self.nv} velocities: give integrate=, a function of "
                "(q, w) that moves coordinates along velocities."
            )
        self._last: tuple[Array, SKOModel] | None = None
        self._held: tuple[Array, Array, SKOModel] | None = None
        zero = frozen(np.zeros(self.nv))
        self._state: tuple[Array, Array, Array] = (start, zero, zero)
        self.set_state(start, v, vdot)

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def nv(self) -> int:
        """The number of velocities."""
        return sum(self.nvs)

    @property
    def step(self) -> float:
        """The step of differences, in the units of the coordinates."""
        return self._step

    @property
    def q(self) -> Array:
        """The coordinates."""
        return self._state[0]

    @q.setter
    def q(self, q: npt.ArrayLike) -> None:
        self.set_state(q=q)

    @property
    def v(self) -> Array:
        """The velocities."""
        return self._state[1]

    @v.setter
    def v(self, v: npt.ArrayLike) -> None:
        self.set_state(v=v)

    @property
    def vdot(self) -> Array:
        """The accelerations."""
        return self._state[2]

    @vdot.setter
    def vdot(self, vdot: npt.ArrayLike) -> None:
        self.set_state(vdot=vdot)

    def set_state(
        self, q: npt.ArrayLike | None = None, v: npt.ArrayLike | None = None, vdot: npt.ArrayLike | None = None
    ) -> None:
        """Set what is given; the blocks at q are computed and checked."""
        state = [
            old if x is None else self.read(name, x, one=True)
            for name, x, old in zip(("q", "v", "vdot"), (q, v, vdot), self._state, strict=True)
        ]
        self.at(state[0])
        self._state = (state[0], state[1], state[2])

    def read(self, name: str, x: Any, one: bool = False) -> Array:
        """Numbers for q, v, vdot or force, with leading batch axes unless `one`."""
        size, what = self.nq if name == "q" else self.nv, f"{name} of this SKO model"
        if name != "q" or self.nq == self.nv:
            x = in_order(x, order_of(self.names, self.nvs), what)
        return frozen(finite(x, (size,) if one else (..., size), what, StateError))

    def integrate(self, q: npt.ArrayLike, w: npt.ArrayLike) -> Array:
        """Coordinates moved along velocities: q + w, or the user's function."""
        here, along = self.read("q", q), self.read("v", w)
        if self._integrate is None:
            return np.asarray(here + along)
        return self.read("q", self._integrate(here, along))

    # -- blocks -------------------------------------------------------------------------------------------------

    def at(self, q: Any = None, v: Any = None) -> SKOModel:
        """The constant model at a state (default: the current one; at rest where q alone is given); with leading batch
        axes one of a batch.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> m = sc.SKOModel([-1, 0], lambda q: [None, [[np.cos(q[1])]]], [[[1.0]]] * 2, [[[1.0]]] * 2, q=[0.0, 0.0])
        >>> float(m.at([0.0, np.pi / 3]).A(0, 1)[0, 0].round(12)), m.at(np.zeros((4, 2))).edges[1].shape
        (0.5, (4, 1, 1))
        """
        there = self.q if q is None else self.read("q", q)
        w = self.read("v", v) if v is not None else self.v if q is None else frozen(np.zeros(self.nv))
        held = self._held
        if held is not None and held[0] is there and held[1] is w:
            return held[2]
        found = self._moving(self._configured(there), there, w)
        if there is self._state[0] and w is self._state[1]:
            self._held = there, w, found
        return found

    def _configured(self, q: Array) -> SKOModel:
        """A, H and M at q, with zero velocities; that of the last q is kept."""
        last = self._last
        if last is not None and (last[0] is q or np.array_equal(last[0], q)):
            return last[1]
        if q.ndim == 1:
            found = self._model(*(self._blocks(x, q) for x in "AHM"))
        else:
            flat = [[self._blocks(x, one) for x in "AHM"] for one in q.reshape(-1, self.nq)]
            if not flat:
                raise StateError(f"q of this SKO model has shape {q.shape}: a batch of no states.")
            lead = q.shape[:-1]
            kinds = zip(*flat, strict=True)
            found = self._model(*([_stacked(column, lead) for column in zip(*blocks, strict=True)] for blocks in kinds))
        if found.dims != self.dims or found.nvs != self.nvs:
            raise ModelError(
                f"the blocks of this SKO model have sizes {found.dims} and {found.nvs} dofs at q = {q!r:.60}, but had "
                f"{self.dims} and {self.nvs}: sizes are structure and stay as they are."
            )
        self._last = q, found
        return found

    def _model(self, A: Any, H: Any, M: Any) -> SKOModel:
        return SKOModel(self._parents, A, H, M, names=self._labels, units=self._words)

    def _moving(self, at: SKOModel, q: Array, v: Array) -> SKOModel:
        """Model with the a and b of a velocity, computed when first needed; values that depend on q alone are shared.
        """

        def a() -> list[Array]:
            return self._vector("a", q, v, lambda: self.carried(q, v, v))

        def b() -> list[Array]:
            return self._vector("b", q, v, lambda: self._bias(q, v))

        nodes = at.nodes
        return SKOModel.trusted(
            at.tree, at.edges, [at.H(k) for k in nodes], [at.M(k) for k in nodes], a, b, at.memo, units=lambda: at.units
        )

    def _bias(self, q: Array, v: Array) -> list[Array]:
        """b where none is given; whether its axes turn is seen at the first configurations."""
        if not np.any(v):
            return [np.zeros(d) for d in self.dims]
        if self._integrate is not None and any(map(self.varies, "AHM")):
            raise ModelError(
                "b of this SKO model is not given, and its velocities are not rates of its coordinates (integrate=): b "
                "does not follow from A, H and M. Give b= as a function of (q, v), such as the gyroscopic force "
                "of a body in its own axes, or b=[0, ...] where forces are M alpha alone."
            )
        if not self._turning and self._looked_at < CHECKED:
            self._looked_at += 1
            self._turning = is_turning(self, q.reshape(-1, self.nq)[0])
        return bias(self, q, v, self._turning)

    def _vector(self, name: str, q: Array, v: Array, default: Callable[[], list[Array]]) -> list[Array]:
        given = self._given[name]
        if given is None:
            return default()
        if not callable(given):
            return self._read_vectors(name, given)
        lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        if not lead:
            return self._read_vectors(name, given(q, v))
        qs, vs = (np.broadcast_to(x, (*lead, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v))
        each = [self._read_vectors(name, given(one, w)) for one, w in zip(qs, vs, strict=True)]
        return [np.stack(column).reshape(*lead, -1) for column in zip(*each, strict=True)]

    def _read_vectors(self, name: str, given: Any) -> list[Array]:
        rows = list(given)
        if len(rows) != self.n:
            raise ModelError(f"{self.n} nodes but {len(rows)} blocks of {name}; give one for each node.")
        return [
            frozen(finite(x, (d,), f"{name} of node {node!r}", ModelError))
            for x, d, node in zip(rows, self.dims, self.names, strict=True)
        ]

    def carried(self, q: Array, v: Array, w: Array) -> list[Array]:
        """dA*(p,k) V(p) + dH*(k) v(k) along w, with V = A* H* v, by node. O(n)."""
        at, rates = self._configured(q), self.rates(q, w)
        ends = np.cumsum([0, *self.nvs])
        V: dict[int, Array] = {}
        found: dict[int, Array] = {}
        for k in self.tree.base_to_tips():
            p, own = self.tree.parents[k], v[..., ends[k] : ends[k + 1], None]
            V[k], change = at.H(k).mT @ own, np.zeros((*own.shape[:-2], self.dims[k], 1))
            dH, dA = (None if kind is None else kind[k] for kind in (rates.H, rates.A))
            if dH is not None:
                change = change + dH.mT @ own
            if p >= 0:
                V[k] = V[k] + at.A(p, k).mT @ V[p]
                if dA is not None:
                    change = change + dA.mT @ V[p]
            found[k] = change[..., 0]
        return [found[k] for k in self.nodes]

    def _blocks(self, what: str, q: Array) -> Any:
        given = self._given[what]
        if not callable(given):
            return given
        found = given(q)
        if found is None or not isinstance(found, Sequence | np.ndarray):
            raise ModelError(f"{what}(q) must give a list with a block for each node, got {found!r:.60}.")
        return found

    # -- derivatives --------------------------------------------------------------------------------------------

    def rates(self, q: npt.ArrayLike, w: npt.ArrayLike) -> Rates:
        """Derivatives of A, H and M along the velocity w at q: by the functions of the user, or by differences."""
        here, along = self.read("q", q), self.read("v", w)
        lead = np.broadcast_shapes(here.shape[:-1], along.shape[:-1])
        if not lead:
            return Rates(*(self._rate(x, here, along) for x in "AHM"))
        flat = [np.broadcast_to(x, (*lead, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (here, along)]
        each = [Rates(*(self._rate(x, *pair) for x in "AHM")) for pair in zip(*flat, strict=True)]
        return Rates(*(_stacked_rates(kind, lead) for kind in zip(*each, strict=True)))

    def _rate(self, what: str, q: Array, w: Array) -> Blocks | None:
        given, own = self._given[what], self._rates[what]
        if own is not None:
            self._check_rates(what, q)
            return self._read_rates(what, own(q, w))
        if not callable(given):
            return None
        largest = float(np.max(np.abs(w), initial=0.0))
        if largest == 0.0:
            return None
        blocks, moved = self._followed(what, q, w)
        return difference(blocks, moved, self._step / largest)

    def _followed(self, what: str, q: Array, w: Array) -> tuple[Callable[[Array], Any], Callable[[float], Array]]:
        """The blocks as a function of q, and q after a time along w."""
        return (lambda there: self._blocks(what, there)), (lambda t: self.integrate(q, t * w))

    def _check_rates(self, what: str, q: Array) -> None:
        """Compare a derivative that was given with differences, at the first configurations it serves at."""
        own = self._rates[what]
        if own is None or not self._unchecked[what]:
            return
        w = np.random.default_rng(self._unchecked[what]).uniform(0.3, 1.0, self.nv)
        check_rates(what, self.names, self._read_rates(what, own(q, w)), *self._followed(what, q, w), self._step)
        self._unchecked[what] -= 1

    def varies(self, what: str) -> bool:
        """True if A, H or M, by its letter, is a function of q."""
        return callable(self._given[what])

    def _read_rates(self, what: str, given: Any) -> Blocks | None:
        if given is None:
            return None
        at = self._configured(self._state[0])
        H, M = [at.H(k) for k in at.nodes], [at.M(k) for k in at.nodes]
        kinds: dict[str, Sequence[Array | None]] = {"A": at.edges, "H": H, "M": M}
        like = kinds[what]
        rows = list(given)
        if len(rows) != self.n:
            raise ModelError(f"{self.n} nodes but {len(rows)} blocks of d{what}; give one for each node, or None.")
        return [
            None if x is None or block is None else finite(x, block.shape[-2:], f"d{what} of node {name!r}", ModelError)
            for x, block, name in zip(rows, like, self.names, strict=True)
        ]

    @property
    def derivatives(self) -> str:
        """Source of the derivatives of its blocks, in words.

        >>> import soacraft as sc
        >>> m = sc.SKOModel([-1], [None], [[[1.0]]], lambda q: [[[1.0 + q[0]**2]]], q=[0.0])
        >>> m.derivatives
        'A constant, H constant, M by differences of step 0.001'
        """
        told = {
            True: "by the function given",
            False: f"by differences of step {self._step:g}",
            None: "constant",
        }
        kinds = {x: None if not callable(self._given[x]) else self._rates[x] is not None for x in "AHM"}
        return ", ".join(f"{x} {told[kind]}" for x, kind in kinds.items())

    # -- the protocol of an SKO model, at the current state ---------------------------------------------------------

    def A(self, p: int, k: int) -> Array:
        """The weight A(p, k) at the current state."""
        return self.at().A(p, k)

    def H(self, k: int) -> Array:
        """The hinge map of node k at the current state."""
        return self.at().H(k)

    def M(self, k: int) -> Array:
        """The inertia of node k at the current state."""
        return self.at().M(k)

    def a(self, k: int) -> Array:
        """The velocity-dependent acceleration of node k at the current state."""
        return self.at().a(k)

    def b(self, k: int) -> Array:
        """The velocity-dependent and external force of node k at the current state."""
        return self.at().b(k)

    @property
    def edges(self) -> list[Array | None]:
        """A(p(k), k) by k at the current state, None at the base."""
        return self.at().edges

    @property
    def memo(self) -> dict[str, Any]:  # type: ignore[override]
        """Memo of the values derived from the A, H and M of the current state."""
        return self.at().memo

    @property
    def units(self) -> EntryUnits:
        """Units of the entries."""
        return self._configured(self._state[0]).units

    @property
    def lock(self) -> None:  # type: ignore[override]
        """None: no gimbal lock is known for its hinges."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: x for name, x in vars(self).items() if name not in ("_book", "_plans")}
        return kept | {"_last": None, "_held": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        return (
            f"SKOModel of functions of {self.nq} coordinates, with {self.n} nodes, {self.nv} dofs, blocks of size "
            f"{sorted(set(self.dims))}"
        )


def _stacked_rates(kind: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """Rates of one kind of block, one for each state; a state in which nothing changes has zeros."""
    known = next((blocks for blocks in kind if blocks is not None), None)
    if known is None:
        return None
    found: Blocks = []
    for k in range(len(known)):
        column = [None if blocks is None else blocks[k] for blocks in kind]
        like = next((x for x in column if x is not None), None)
        filled = [np.zeros_like(like) if x is None and like is not None else x for x in column]
        found.append(None if like is None else _stacked(filled, lead))
    return found


def _stacked(column: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """Blocks of one node, one for each state, along the axes of a batch."""
    if column[0] is None:
        return None
    x = np.stack([np.asarray(block, dtype=np.float64) for block in column])
    return x.reshape(*lead, *x.shape[1:])
