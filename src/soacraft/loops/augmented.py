"""`Augmented`: what solvers with closures as rows next to the tree have in common, the plan of their compiled form."""

from __future__ import annotations

from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import REPEATED
from soacraft.loops.schur import Compliance
from soacraft.loops.solver import Solver
from soacraft.spatial.checks import Array


class Augmented(Solver):
    """A solver whose compiled form factors the Schur complement of the closures, in rows of known compliance."""

    def _compile(self) -> CompiledClosures | None:
        return CompiledClosures.of(self._graph, self.tolerance)

    def _prepare(self, task: Task) -> None:
        self._refer(Compliance(task.rows, task.graph.sko(task.state)))

    def _prepare_at(self, q: Array, v: Array) -> bool:
        assert self._compiled is not None
        assert self._turns is not None
        reference = self._compiled.compliance(q, self._turns)
        if reference is not None:
            self._take(self._compiled.augmented(reference, method=self._method))
        return reference is not None

    def _refer(self, compliance: Compliance, loose: bool = False) -> None:
        """Make a plan with what rounding is measured by here, unless that of the one in use serves."""
        if self._compiled is None or self._compiled.size != compliance.rows.size or not self._is_compiled(self._method):
            return
        now = self._chosen.compiled
        was_loose = now is not None and now.plan.tolerances.repeated > REPEATED
        if now is None or was_loose < loose or not compliance.is_like(now.plan.compliance):
            self._take(self._compiled.augmented(compliance.reference, loose or was_loose, self._method))
