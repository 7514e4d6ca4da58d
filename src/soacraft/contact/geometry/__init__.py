"""Shapes, and what is asked of them: distances, points of contact, rays, times of impact.

`shapes` and `meshes` make them, `records` from the geometries of a model; `queries` asks pairs of them, `scene` all
pairs of a model that `filters` let touch; `table` holds the answers. The queries are compiled (`soacraft/contact/` of
the core).
"""

from soacraft.contact.geometry.impact import Impact, time_of_impact
from soacraft.contact.geometry.meshes import ConvexHull, HeightField, TriangleMesh
from soacraft.contact.geometry.queries import Hits, Nearest, cast_rays, contacts, distance
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Shape, Sphere
from soacraft.contact.geometry.table import Contacts

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
