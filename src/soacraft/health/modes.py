"""Modes of flexible bodies: what they leave out, and where they are taken too far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from soacraft.health.motion import MARGIN, drawn_state
from soacraft.health.report import Finding
from soacraft.model import Body, Graph
from soacraft.model.modal import ModalData
from soacraft.model.modal.bodies import LARGE_TURN, largest_turn, not_positive
from soacraft.model.modal.inertia import mass_matrix
from soacraft.model.sizes.scale import BENT

#: (omega / largest omega)^2 of a mode without stiffness.
SLACK = 1e-14
#: The fastest vibration of a body over the slowest, beyond which small steps are spent on what nobody sees.
WIDE = 1e4


def check_modes(graph: Graph) -> Iterator[Finding]:
    """Flexible bodies without stiffening, stiffness or damping, with modes far apart, and bent too far in the state."""
    yield from _reach(graph)
    for body in graph.bodies:
        if body.modal is not None:
            yield from _data(body.modal, f"flexible body {body.name!r}")
            yield from _state(graph, body, body.modal)
        if body._rides is not None and not body._rides.deforms:
            text = f"is attached to a node of flexible body {body.parent.name!r} that no mode moves"
            yield Finding("note", f"body {body.name!r}", 0.0, text, "check that it is the node that was meant")


def _data(data: ModalData, subject: str) -> Iterator[Finding]:
    if not data.geometric:
        text = "has no geometric stiffening: a load along it neither stiffens nor buckles it"
        yield Finding("note", subject, 0.0, text, "reduce it with geometric=True if it spins fast or is pressed")
    if data.n == 0:
        yield Finding("warning", subject, 0, "has no modes", "add it as a rigid body")
        return
    squares = eigh(data.K, data.M, eigvals_only=True)
    slack = int((squares <= SLACK * max(squares[-1], 0.0)).sum())
    if slack or squares[-1] <= 0.0:
        text = f"has {slack} vibration{'s' * (slack != 1)} without stiffness, which only a load holds"
        cure = "leave out the modes that strain nothing, or let the hinge move so"
        yield Finding("warning", subject, float(squares[0]), text, cure)
    elif squares[-1] > WIDE**2 * squares[0]:
        low, high = np.sqrt(squares[[0, -1]]) / (2.0 * np.pi)
        text = f"its vibrations go from {low:.4g} to {high:.4g} Hz, and the fastest decides the step"
        yield Finding("note", subject, float(high / low), text, "leave out the fastest modes, or step implicitly")
    assert data.D is not None
    if not data.D.any():
        text = "has modes without damping: what shakes it once is never lost"
        yield Finding("note", subject, 0.0, text, "reduce it with damping=0.01 or so, unless energy is to be kept")


def _reach(graph: Graph) -> Iterator[Finding]:
    """Bodies whose M(eta) is positive for little bending alone: many modes of a slender body next to a light hinge."""
    drawn = drawn_state(graph, 1)
    for k in drawn.bent_less:
        reach = BENT * drawn.part / MARGIN
        text = (
            f"has a mass matrix that, with its terms of second order, is not positive where it is bent at random by "
            f"{BENT:g} of its length; at {reach:.2g} of it, it is"
        )
        cure = (
            "give it its mean frame, sc.flexible.rereference(data, 'mean') and hinge_node=, use fewer modes, or reduce "
            "it with geometric=False"
        )
        yield Finding("warning", f"flexible body {graph.bodies[k].name!r}", reach, text, cure)


def _state(graph: Graph, body: Body, data: ModalData) -> Iterator[Finding]:
    layout = graph.layout
    k = layout.index[body]
    eta, subject = body.eta, f"flexible body {body.name!r}"
    bent = not_positive(layout, k, mass_matrix(data, eta), eta)
    if bent is not None:
        text = "is bent so far in the current state that its mass matrix is not positive"
        yield Finding("error", subject, float(np.abs(eta).max()), text, "keep its modes smaller")
    name, turn = largest_turn(data, eta)
    if turn > LARGE_TURN:
        text = f"turns by {turn:.3g} rad at its node {name!r} in the current state; modes hold up to {LARGE_TURN} rad"
        yield Finding("warning", subject, turn, text, "divide it with sc.flexible.substructure")
