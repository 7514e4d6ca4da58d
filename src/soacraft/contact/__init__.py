"""Contact in minimal coordinates: shapes and their distances; impulses that obey complementarity and friction cones.

    scene = sc.contact.Scene(mb)                        # the shapes of a model, and which of them may touch
    near = scene.distances(q, within=0.05)              # a row for each pair: distance, points, normal
    touching = scene.contacts(q, within=1e-3)           # several points of each pair, so that boxes rest flat
    scene.gradient(near)                                # d(distance)/dq, (rows, nv)

    sc.contact.distance(sc.contact.Box(1, 1, 1), Pose(), sc.contact.Sphere(0.2), Pose(translation=(0, 0, 1)))

    problem = sc.contact.Problem(S, b, [sc.contact.Cone(0.5), sc.contact.Cone(0.5)])      # u = S p + b
    problem.solve()                                     # impulses and velocities, with the residual of the laws

    sc.contact.plastic_impact(mb, ("gripper", "part"))  # velocities after two bodies have joined, and the energy lost

Distances are signed: negative in penetration. Normals are of unit length and point from the first shape to the second.
`geometry` has shapes and queries; `solvers` states what impulses and velocities at contacts must obey, and solves it.
"""

from typing import TYPE_CHECKING

from soacraft.contact.dynamics.plastic import PlasticImpact, plastic_impact
from soacraft.contact.geometry.impact import Impact, time_of_impact
from soacraft.contact.geometry.meshes import ConvexHull, HeightField, TriangleMesh
from soacraft.contact.geometry.queries import Hits, Nearest, cast_rays, contacts, distance
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Shape, Sphere
from soacraft.contact.geometry.table import Contacts
from soacraft.contact.solvers.blocks import Bilateral, Bounded, Cone
from soacraft.contact.solvers.problem import Impulses, Problem
from soacraft.hints import lookup

__all__ = [
    "Bilateral",
    "Bounded",
    "Box",
    "Capsule",
    "Cone",
    "Contacts",
    "ConvexHull",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "Hits",
    "Impact",
    "Impulses",
    "Nearest",
    "Plane",
    "PlasticImpact",
    "Problem",
    "Scene",
    "Shape",
    "Sphere",
    "TriangleMesh",
    "cast_rays",
    "contacts",
    "distance",
    "plastic_impact",
    "time_of_impact",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__
