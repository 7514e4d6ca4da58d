"""`workspace`: where a node can be, as a map of points in colours by how well it can be moved there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.dynamics import jacobian, node_motion
from soacraft.errors import ViewError
from soacraft.model.hinges.base import has_coordinates
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.runs.labels import labels_of
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Chart, Panel, chart_of
from soacraft.view.charts.runs import chosen_dofs

_AXES = "xyz"
#: Singular values this small relative to the largest of all samples are zero.
_LOST = 1e-9


def workspace(
    mb: Multibody,
    node: Frame | str,
    dofs: Sequence[str] | str | None = None,
    samples: int = 2000,
    axes: str | None = None,
    seed: Seed = 0,
) -> Chart:
    """Map of the positions of a node at random coordinates within the limits, coloured by its manipulability

        volume of what unit velocities reach = product of the non-zero singular values of J

    of the linear rows of its Jacobian, lengths in units of the model's. `dofs` move, all by default; the others stay as
    they are in the model's state. Angles without limits take a full turn; travels without limits are refused. `axes`
    are the two inertial axes of the map, by default the two in which the points spread most. Of a tree.
    O(samples n nv).

    >>> import soacraft as sc
    >>> chart = sc.view.workspace(sc.load("double_pendulum"), "lower/tip", samples=100)
    >>> chart.panels[0].title, chart.panels[0].x_label
    ('workspace of lower/tip: 100 samples of 2 dofs', 'x [m]')
    """
    if not isinstance(mb, Multibody):
        raise ViewError(f"workspace takes a model, got {type(mb).__name__}.")
    if mb.is_closed or mb.couplings:
        raise ViewError(f"workspace maps trees, and {mb.name!r} has loops or couplings that tie its dofs.")
    count = whole_number(samples, "samples of a workspace", 1, error=ViewError)
    frame = mb.frame(node)
    Q, moved = _samples(mb, dofs, count, read_seed(seed, "the seed of a workspace"))
    places = node_motion(mb, Q, np.zeros((count, mb.nv)), np.zeros((count, mb.nv)), [frame]).translation[:, 0]
    values = _volumes(mb, Q, frame, moved)
    a, b = _picked_axes(axes, places)
    name = f"workspace of {frame.full_name}: {count} samples of {len(moved)} dof{'' if len(moved) == 1 else 's'}"
    lines = {frame.full_name: (places[:, a], places[:, b])}
    return chart_of([
        Panel(name, f"{_AXES[a]} [m]", f"{_AXES[b]} [m]", lines, False, values=values, values_label="manipulability")
    ])  # fmt: skip


def _samples(
    mb: Multibody, dofs: Sequence[str] | str | None, count: int, rng: np.random.Generator
) -> tuple[Array, list[int]]:
    """Coordinates (count, nq), and the dofs that were moved."""
    q_places, v_places = chosen_dofs(labels_of(mb), dofs, f"{mb.name!r:.60}")
    if not v_places:
        raise ViewError(f"workspace of {mb.name!r}: no dof moves; name some with dofs=.")
    layout, ranges, units = mb.layout, Ranges(mb), "".join(mb.layout.units.hinge)
    for body, q in zip(layout.bodies, layout.q_slices, strict=True):
        of_body = [i for i in q_places if q.start <= i < q.stop]
        if of_body and not has_coordinates(body.hinge) and len(of_body) < q.stop - q.start:
            raise ViewError(f"dofs of {body.hinge_name!r:.60} cannot be moved one by one; name the hinge.")
    for i in v_places:
        if units[i] == "m" and not (np.isfinite(ranges.lower[i]) and np.isfinite(ranges.upper[i])):
            raise ViewError(
                f"dof {mb.dof_names[i]!r:.60} travels without limits, so that its workspace has none: give it limits, "
                "or leave it out with dofs=."
            )
    Q = np.tile(np.array(mb.q), (count, 1))
    for row in Q:
        row[q_places] = mb.random_state(rng, limits=True)[0][q_places]
    return Q, list(v_places)


def _volumes(mb: Multibody, Q: Array, frame: Frame, moved: list[int]) -> Array:
    scale = scale_of(mb)
    sizes = scale.of("".join(mb.layout.units.hinge))
    J = np.asarray(jacobian(mb, Q, [frame]))[:, 3:] * sizes / scale.length
    s = np.linalg.svd(J[..., moved], compute_uv=False)
    rank = int(np.sum(s > _LOST * s.max(initial=0.0), axis=-1).max(initial=0))
    return np.asarray(np.prod(s[:, :rank], axis=-1))


def _picked_axes(axes: str | None, places: Array) -> tuple[int, int]:
    if axes is None:
        a, b = sorted(np.argsort(np.ptp(places, axis=0))[1:].tolist())
        return a, b
    if not isinstance(axes, str) or len(axes) != 2 or not set(axes) <= set(_AXES) or axes[0] == axes[1]:
        raise ViewError(f"axes of a workspace are two of x, y and z, such as 'xz'; got {axes!r:.60}.")
    return _AXES.index(axes[0]), _AXES.index(axes[1])
