"""Facts of a model that its runs need: whether springs act, names of coordinates, units of length."""

from __future__ import annotations

from functools import cached_property

from soacraft.model.sizes.measure import Measure, constant_measure_of, measure_of
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.runs.labels import Labels, labels_of
from soacraft.spatial.checks import Array


class ModelFacts:
    """Facts of a model at one revision of it, each computed when it is first read.

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")
    >>> facts = ModelFacts(mb)
    >>> facts.has_passive, facts.revision == mb.revision
    (False, True)
    >>> mb.bodies[0].passive = sc.Passive(damping=0.1)
    >>> facts.revision == mb.revision
    False
    """

    def __init__(self, mb: Multibody) -> None:
        self._mb, self.revision = mb, mb.revision

    @cached_property
    def has_passive(self) -> bool:
        """True if the model has springs, dampers and the like."""
        return has_passive(self._mb)

    @cached_property
    def labels(self) -> Labels:
        """Names and units of coordinates and dofs."""
        return labels_of(self._mb)

    @cached_property
    def holonomic(self) -> bool:
        """True if no hinge rolls, or is nonholonomic in another way."""
        return self._mb.layout.holonomic

    @cached_property
    def _measure(self) -> Measure:
        return constant_measure_of(self._mb)

    def measure(self, q: Array) -> Measure:
        """Units of the model; where it has no length, those at coordinates q."""
        units = self._measure
        return units if units.length > 0.0 else measure_of(self._mb, q)


def has_passive(mb: Multibody) -> bool:
    """True if a model has springs, dampers and the like."""
    springs = any(x.passive.stiffness.any() or x.passive.damping.any() for x in mb.bodies)
    return springs or len(mb.tendons) > 0 or mb.layout.has_links or any(x.gravity_compensation for x in mb.bodies)
