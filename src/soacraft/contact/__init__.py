"""Contact: the geometry of shapes, their distances and points of contact.

    scene = sc.contact.Scene(mb)                        # the shapes of a model, and which of them may touch
    near = scene.distances(q, within=0.05)              # a row for each pair: distance, points, normal
    touching = scene.contacts(q, within=1e-3)           # several points of each pair, so that boxes rest flat
    scene.gradient(near)                                # d(distance)/dq, (rows, nv)

    sc.contact.distance(sc.contact.Box(1, 1, 1), Pose(), sc.contact.Sphere(0.2), Pose(translation=(0, 0, 1)))

Distances are signed: negative in penetration. Normals are of unit length and point from the first shape to the second.
"""

from soacraft.contact.geometry import (
    Box,
    Capsule,
    Contacts,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HeightField,
    Hits,
    Impact,
    Nearest,
    Plane,
    Scene,
    Shape,
    Sphere,
    TriangleMesh,
    cast_rays,
    contacts,
    distance,
    time_of_impact,
)

__all__ = [
    "Box",
    "Capsule",
    "Contacts",
    "ConvexHull",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "Hits",
    "Impact",
    "Nearest",
    "Plane",
    "Scene",
    "Shape",
    "Sphere",
    "TriangleMesh",
    "cast_rays",
    "contacts",
    "distance",
    "time_of_impact",
]


def __dir__() -> list[str]:
    return __all__
