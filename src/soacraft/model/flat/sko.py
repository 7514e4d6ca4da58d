"""SKO models: a tree, weights on its edges, hinge maps, inertias; blocks of any size (004 section 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.tree import Branch, Tree
from soacraft.attributes import Strict
from soacraft.errors import ModelError, SingularError
from soacraft.spatial.checks import state_text

Array = npt.NDArray[np.float64]
Block = npt.ArrayLike | None
#: A function of coordinates (of q and v for a and b, of q and a velocity for derivatives) that gives a block by node.
OfState = Callable[..., Sequence[Block] | None]
Lock = Callable[[int, tuple[int, ...]], str | None]  # of a node, in one state of a batch: the text of its gimbal lock

#: A hinge inertia below this may have lost digits: doubles end at 2e-308.
FAINT = 1e-290

#: An inertia is symmetric when its entries agree in nine digits, or what they differ by is rounding of the moments and
#: masses on its diagonal.
SYMMETRY, ROUNDING = 1e-9, 1e-12
#: The smallest singular value of a hinge map whose rows are independent, with rows and columns of size one.
RANK = 1e-12
#: The units of a rigid body's velocity: three of turns (r), three of travels (m).
BODY = "rrrmmm"


class EntryUnits(NamedTuple):
    """A word for each node with a letter for each entry: neighbours of one letter share a unit."""

    body: tuple[str, ...]
    """Units of velocities and forces of the nodes."""
    hinge: tuple[str, ...]
    """Units of generalized velocities and forces."""


class OfStates(NamedTuple):
    """Arguments of a model of functions alone: the state it begins with, derivatives of its blocks, its way of moving.
    """

    q: npt.ArrayLike | None
    v: npt.ArrayLike | None
    vdot: npt.ArrayLike | None
    dA: OfState | None
    dH: OfState | None
    dM: OfState | None
    integrate: Callable[[Array, Array], npt.ArrayLike] | None
    step: float
    check: bool


class SKOModel(Strict):
    """The structure every recursion works on (004 Eq. 1-3).

        V = A* H* v,   alpha = A* (H* vdot + a),   f = A (M alpha + b),   T = H f

    `A[k]` is the weight A(p(k), k) of the edge above node k (`None` for a base node), `H[k]` maps the node's
    velocity space to its hinge (nv_k x dim_k, zero rows allowed), `M[k]` is symmetric positive semi-definite.
    Blocks may be non-square and singular, and may carry leading batch axes. Constant: make a new one to change it.

    `units` says which entries of a node share a unit: words of letters for the velocities of the nodes and for the
    hinges, as in `(["rrrmmm"], ["r"])` for one body on a pin; what is zero is judged within a unit. Without it all
    entries of a node are taken to be of one unit.

    Where A, H or M is a function of coordinates, the model has a state and follows it: give `q=` and see
    `soacraft.model.flat.sko_functions.SKOFunctions` for what else there is. `at(q, v)` is the constant model there.

    >>> m = SKOModel([-1, 0], A=[None, [[1.0]]], H=[[[1.0]], [[1.0]]], M=[[[2.0]], [[3.0]]])
    >>> m.tree.children(0), float(m.A(0, 1)[0, 0])
    ((1,), 1.0)
    """

    lock: Lock | None
    _units: EntryUnits | Callable[[], EntryUnits] | None
    _a: list[Array] | Callable[[], Sequence[Array]] | None
    _b: list[Array] | Callable[[], Sequence[Array]] | None

    _set_once = frozenset({"tree", "dims", "nvs", "memo", "lock"})
    _cures: ClassVar = {"*": "an SKO model is constant: make another with sc.SKOModel(parents, A, H, M, a, b, names)"}

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """One of functions where A, H, M, a or b is a function."""
        if cls is SKOModel and any(map(callable, (*args[1:6], *kwargs.values()))):
            from soacraft.model.flat.sko_functions import SKOFunctions

            return object.__new__(SKOFunctions)  # type: ignore[return-value]
        return object.__new__(cls)

    def __init__(
        self,
        parents: Sequence[int],
        A: Sequence[Block] | OfState,
        H: Sequence[npt.ArrayLike] | OfState,
        M: Sequence[npt.ArrayLike] | OfState,
        a: Sequence[npt.ArrayLike] | OfState | None = None,
        b: Sequence[npt.ArrayLike] | OfState | None = None,
        names: Sequence[str] | None = None,
        units: tuple[Sequence[str], Sequence[str]] | None = None,
        *,
        q: npt.ArrayLike | None = None,
        v: npt.ArrayLike | None = None,
        vdot: npt.ArrayLike | None = None,
        dA: OfState | None = None,
        dH: OfState | None = None,
        dM: OfState | None = None,
        integrate: Callable[[Array, Array], npt.ArrayLike] | None = None,
        step: float = 1e-3,
        check: bool = True,
    ) -> None:
        of_state = OfStates(q, v, vdot, dA, dH, dM, integrate, step, check)
        self._begin(parents, {"A": A, "H": H, "M": M, "a": a, "b": b}, names, units, of_state)

    def _begin(
        self,
        parents: Sequence[int],
        blocks: dict[str, Any],
        names: Sequence[str] | None,
        units: tuple[Sequence[str], Sequence[str]] | None,
        of_state: OfStates,
    ) -> None:
        """Read what a model is made of, here constant blocks."""
        of_functions = {name: x for name, x in of_state._asdict().items() if name not in ("step", "check")}
        extra = next((name for name, x in of_functions.items() if x is not None), None)
        if extra is not None:
            raise ModelError(
                f"{extra}= is for an SKO model of functions: none of A, H and M given here is one, so that this model "
                "is at one configuration. sc.operators(model, v=..., vdot=...) takes velocities."
            )
        A, H, M, a, b = blocks.values()
        self.tree = Tree(parents, names)
        for what, given in blocks.items():
            if given is not None and len(given) != self.tree.n:
                raise ModelError(f"{self.tree.n} nodes but {len(given)} blocks of {what}; give one for each node.")
        self._M = [self._matrix("M", k, block) for k, block in enumerate(M)]
        self._H = [self._matrix("H", k, block) for k, block in enumerate(H)]
        self.dims = tuple(block.shape[-1] for block in self._M)
        self.nvs = tuple(block.shape[-2] for block in self._H)
        self._A = [self._edge(k, block) for k, block in enumerate(A)]
        for k, (m, h) in enumerate(zip(self._M, self._H, strict=True)):
            self._same(k, "M", m.shape[-2:], (self.dims[k], self.dims[k]))
            self._same(k, "H", h.shape[-2:], (self.nvs[k], self.dims[k]))
            if self.nvs[k] > self.dims[k]:
                raise ModelError(
                    f"H of node {self.names[k]!r} has {self.nvs[k]} rows for a velocity of size {self.dims[k]}; "
                    "a hinge map needs independent rows."
                )
        self._units = None if units is None else self._read_units(units)
        for k, m in enumerate(self._M):
            root = np.sqrt(self.sizes(k, m))
            rounding = ROUNDING * root[..., :, None] * root[..., None, :]
            if not (np.abs(m - m.mT) <= SYMMETRY * np.abs(m) + rounding).all():
                raise ModelError(f"M of node {self.names[k]!r} is not symmetric.")
            if _least(0.5 * (m + m.mT), root) < -SYMMETRY:
                raise ModelError(
                    f"M of node {self.names[k]!r} is indefinite, its smallest eigenvalue is "
                    f"{float(np.min(np.linalg.eigvalsh(0.5 * (m + m.mT)))):.3g}; an inertia is positive semi-definite."
                )
        for k, h in enumerate(self._H):
            if not _has_full_rank(h):
                raise ModelError(
                    f"H of node {self.names[k]!r} has dependent rows: a hinge map of {self.nvs[k]} dofs has rank "
                    f"{self.nvs[k]}. Leave out the dofs that repeat others."
                )
        self._a, self._b = self._vectors("a", a), self._vectors("b", b)
        self.memo: dict[str, Any] = {}
        self.lock = None

    @classmethod
    def trusted(
        cls,
        tree: Tree,
        A: Sequence[Array | None],
        H: Sequence[Array],
        M: Sequence[Array],
        a: Callable[[], Sequence[Array]] | None = None,
        b: Callable[[], Sequence[Array]] | None = None,
        memo: dict[str, Any] | None = None,
        lock: Lock | None = None,
        units: Callable[[], EntryUnits] | None = None,
    ) -> SKOModel:
        """Model without checks, for blocks that are right by construction; a and b are computed when first needed.

        `memo` holds what was derived from A, H and M alone: pass the same one for states that differ in velocity only.
        `lock` says of a node whether its hinge is in gimbal lock, for the errors of `singular`.
        """
        self = cls.__new__(cls)
        self.tree, self._A, self._H, self._M = tree, list(A), list(H), list(M)
        self.dims = tuple(block.shape[-1] for block in M)
        self.nvs = tuple(block.shape[-2] for block in H)
        self._a, self._b = a, b
        self._units = units
        self.memo = {} if memo is None else memo
        self.lock = lock
        return self

    # -- states and parts ---------------------------------------------------------------------------------------

    def at(self, q: Any = None, v: Any = None) -> SKOModel:
        """The model at a state. One of constant blocks has no coordinates and is itself at each."""
        if q is not None and np.size(q):
            raise ModelError(
                "this SKO model is at one configuration and has no q; give A, H or M as a function of q to move it."
            )
        return self

    def branches(self) -> tuple[Branch, ...]:
        """The serial segments of its tree, base segments first (004 section 7.1)."""
        return self.tree.branches

    def subgraph(self, nodes: Sequence[Any]) -> SKOModel:
        """The model of some nodes, by name or number; what they hang from is at rest (004 section 7).

        The nodes are connected, or on the root. An SKO model of functions gives one of functions: of the coordinates of
        these nodes, the others as they are now in the state of the whole.

        >>> import soacraft as sc
        >>> sc.random_sko(6, seed=1).subgraph(["node1", "node5"]).names
        ('node1', 'node5')
        """
        from soacraft.model.flat.sko_parts import subgraph

        return subgraph(self, nodes)

    def aggregated(self, *groups: Sequence[Any]) -> SKOModel:
        """The model with each group of nodes as one node (004 section 2.3): A(p,S) = E_p A_S, H = H_S A_S, M = M_S.

        >>> import soacraft as sc
        >>> m = sc.SKOModel([-1, 0], [None, [[1.0]]], [[[1.0]]] * 2, [[[2.0]], [[3.0]]], names=["a", "b"])
        >>> one = m.aggregated(["a", "b"])
        >>> one.names, one.H(0).tolist()
        (('a+b',), [[1.0, 1.0], [0.0, 1.0]])
        """
        from soacraft.model.flat.sko_parts import aggregated

        return aggregated(self, groups)

    # -- the protocol -------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of nodes."""
        return self.tree.n

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return self.tree.names

    @property
    def nodes(self) -> range:
        """The numbers of the nodes."""
        return range(self.tree.n)

    def parent(self, k: int) -> int:
        """The parent of k, -1 for a base node."""
        return self.tree.parent(k)

    def children(self, k: int) -> tuple[int, ...]:
        """The children of k."""
        return self.tree.children(k)

    def base_to_tips(self) -> tuple[int, ...]:
        """All nodes, every parent before its children."""
        return self.tree.base_to_tips()

    def tips_to_base(self) -> tuple[int, ...]:
        """All nodes, every child before its parent."""
        return self.tree.tips_to_base()

    def A(self, p: int, k: int) -> Array:
        """The weight A(p, k) that carries forces of child k to its parent p."""
        block = self._A[k]
        if block is None or self.tree.parents[k] != p:
            raise ModelError(f"there is no edge from {self.names[k]!r} to node number {p}.")
        return block

    def H(self, k: int) -> Array:
        """The hinge map of node k (nv_k x dim_k)."""
        return self._H[k]

    def M(self, k: int) -> Array:
        """The inertia of node k (dim_k x dim_k)."""
        return self._M[k]

    def a(self, k: int) -> Array:
        """The velocity-dependent acceleration of node k, zero when none was given."""
        if callable(self._a):
            self._a = list(self._a())
        return np.zeros(self.dims[k]) if self._a is None else self._a[k]

    def b(self, k: int) -> Array:
        """The velocity-dependent, gravity and external force of node k, zero when none was given."""
        if callable(self._b):
            self._b = list(self._b())
        return np.zeros(self.dims[k]) if self._b is None else self._b[k]

    @property
    def edges(self) -> list[Array | None]:
        """A(p(k), k) by k, None at the base."""
        return self._A

    def singular(self, k: int, D: Array, bad: npt.NDArray[np.bool_]) -> SingularError:
        """The error for a node whose D(k) is singular in the states where `bad` is true."""
        where = np.unravel_index(int(np.argmax(bad)), bad.shape)
        state, name = state_text(where, bad.shape), self.names[k]
        locked = None if self.lock is None else self.lock(k, tuple(int(i) for i in where))
        if locked is not None:
            return SingularError(f"{state}{locked}")
        least = float(np.linalg.eigvalsh(D[where])[0])
        cure = f"Give mass or moment to {name!r} or to a body outboard of it, or weld it."
        if 0.0 < least < FAINT:
            cure = "Numbers this small lose their digits; give masses and lengths in smaller units."
        return SingularError(
            f"{state}the hinge of {name!r} has no inertia to move: the smallest eigenvalue of D = H P H* is "
            f"{least:.3g}. {cure}"
        )

    def share_memo(self, other: SKOModel) -> None:
        """Use what was derived from the A, H and M of another model, which are the same as here."""
        vars(self)["memo"] = other.memo

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: its blocks; derived values are computed again."""
        a, b = (None if x is None else [f(k) for k in self.nodes] for x, f in ((self._a, self.a), (self._b, self.b)))
        kept = {name: x for name, x in vars(self).items() if name != "_book"}
        return kept | {"_a": a, "_b": b, "_units": self.units, "memo": {}, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for blocks in (self._A, self._H, self._M, self._a or [], self._b or []):
            for x in blocks:  # type: ignore[union-attr]
                if x is not None:
                    x.flags.writeable = False

    @property
    def units(self) -> EntryUnits:
        """Units of the entries: equal letters share a unit; by default all entries of a node."""
        if self._units is None:
            self._units = EntryUnits(*(tuple("x" * size for size in sizes) for sizes in (self.dims, self.nvs)))
        elif not isinstance(self._units, EntryUnits):
            self._units = self._units()
        return self._units

    def sizes(self, k: int, X: Array) -> Array:
        """The largest of the diagonal entries of X, an inertia of node k, that share a unit, (..., dim)."""
        diagonal, word = np.abs(np.diagonal(X, axis1=-2, axis2=-1)), np.array(list(self.units.body[k]), dtype="<U1")
        sizes = np.zeros(diagonal.shape)
        for letter in set(self.units.body[k]):
            where = word == letter
            sizes[..., where] = diagonal[..., where].max(axis=-1, keepdims=True)
        return sizes

    def __repr__(self) -> str:
        return f"SKOModel with {self.n} nodes, {sum(self.nvs)} dofs, blocks of size {sorted(set(self.dims))}"

    # -- checks -------------------------------------------------------------------------------------------------

    def _matrix(self, what: str, k: int, block: Any) -> Array:
        return _numbers(block, f"{what} of node {self.tree.names[k]!r}", 2)

    def _edge(self, k: int, block: Block) -> Array | None:
        p = self.tree.parents[k]
        if p < 0:
            if block is not None:
                raise ModelError(f"node {self.names[k]!r} is on the root and has no edge: give None for its A.")
            return None
        if block is None:
            raise ModelError(f"A of node {self.names[k]!r} is missing; its parent is {self.names[p]!r}.")
        matrix = self._matrix("A", k, block)
        self._same(k, "A", matrix.shape[-2:], (self.dims[p], self.dims[k]))
        return matrix

    def _same(self, k: int, what: str, got: tuple[int, ...], want: tuple[int, ...]) -> None:
        if got != want:
            raise ModelError(
                f"{what} of node {self.names[k]!r} is {got[0]} x {got[1]}, but its neighbours ask for "
                f"{want[0]} x {want[1]}."
            )

    def _vectors(self, what: str, given: Any) -> list[Array] | None:
        if given is None:
            return None
        vectors = [_numbers(x, f"{what} of node {self.names[k]!r}", 1) for k, x in enumerate(given)]
        for k, x in enumerate(vectors):
            if x.shape[-1] != self.dims[k]:
                raise ModelError(
                    f"{what} of node {self.names[k]!r} has {x.shape[-1]} entries, its velocity {self.dims[k]}."
                )
        return vectors

    def _read_units(self, given: Any) -> EntryUnits:
        try:
            body, hinge = (tuple(map(str, words)) for words in given)
        except (TypeError, ValueError):
            raise ModelError(
                f"units of an SKO model are words for the nodes and words for the hinges, not {given!r:.60}."
            ) from None
        for what, words, sizes in (("velocity", body, self.dims), ("hinge", hinge, self.nvs)):
            if tuple(map(len, words)) != sizes:
                raise ModelError(
                    f"units of the {what} of each node need a letter for each of its {sizes} entries, "
                    f"got {words!r:.60}."
                )
        return EntryUnits(body, hinge)


def _least(M: Array, root: Array) -> float:
    """The smallest eigenvalue of a symmetric block with ones on its diagonal: no unit matters. `root` has the roots of
    the largest of what shares a unit: what is rounding of them is not made larger.
    """
    s = np.sqrt(np.abs(np.diagonal(M, axis1=-2, axis2=-1)))
    s = np.maximum(s, np.sqrt(ROUNDING) * root)
    s = np.where(s > 0.0, s, 1.0)
    if not M.shape[-1]:
        return 0.0
    return float(np.min(np.linalg.eigvalsh(M / s[..., :, None] / s[..., None, :]), initial=0.0))


def _has_full_rank(H: Array) -> bool:
    """True if the rows are independent, after rows and columns are brought to one size: units do not matter."""
    if not H.shape[-2]:
        return True
    for axis in (-1, -2):
        largest = np.max(np.abs(H), axis=axis, keepdims=True, initial=0.0)
        H = H / np.where(largest > 0.0, largest, 1.0)
    return bool((np.linalg.svd(H, compute_uv=False)[..., -1] > RANK).all())


def _numbers(block: Any, what: str, ndim: int) -> Array:
    try:
        x = np.array(block, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} cannot be read as numbers: {error}.") from None
    if x.ndim < ndim:
        raise ModelError(f"{what} must be a {'matrix' if ndim == 2 else 'vector'}, got shape {x.shape}.")
    if not np.isfinite(x).all():
        raise ModelError(f"{what} holds NaN or infinite entries.")
    x.flags.writeable = False
    return x


