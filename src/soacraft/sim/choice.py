"""Choice of the solver of a run, and its reason."""

from __future__ import annotations

from soacraft.errors import LoopError, ModelError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, Solver, TreeAugmented
from soacraft.model.tree.graph import ties_text
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.closed import Closed
from soacraft.sim.problem.tree import Tree

_SOLVERS: dict[str, type[Solver]] = {"ta": TreeAugmented, "fa": FullyAugmented, "ce": ConstraintEmbedding}


def check_name(solver: object) -> None:
    """Refuse what is no name of a solver."""
    allowed = ("auto", "tree", *_SOLVERS)
    if solver not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ModelError(f"solver must be one of {names} or a solver of sc.loops, got {solver!r:.60}.")


def read_solver(mb: Multibody, solver: str | Solver) -> tuple[Closed | Tree, str]:
    """The solver of closures, a `Tree` where there are none, and why."""
    if isinstance(solver, Solver):
        if solver.graph is not mb:
            raise ModelError(f"the solver is of {solver.graph.name!r}, not of the model {mb.name!r} that is to move.")
        return Closed(solver), f"{type(solver).__name__}: as given"
    check_name(solver)
    if not mb.is_closed:
        if solver not in ("auto", "tree"):
            raise LoopError(f"{mb.name!r} has no active loops or couplings for solver={solver!r}; use solver='tree'.")
        return Tree(mb), "tree: there are no loops or couplings"
    if solver == "tree":
        raise LoopError(
            f"{mb.name!r} has {ties_text(len(mb.loops), len(mb.couplings))}, which solver='tree' would "
            "ignore; use 'ta', 'fa' or 'ce', or make them inactive."
        )
    if solver == "auto":
        why = "tree-augmented: there are loops or couplings, and projection keeps their branch through singular poses"
        return Closed(TreeAugmented(mb)), why
    return Closed(_SOLVERS[solver](mb)), f"{_SOLVERS[solver].__name__}: as given"
