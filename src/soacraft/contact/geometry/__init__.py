"""Shapes and queries: distances, points of contact, rays, times of impact.

`shapes` and `meshes` make them, `records` from the geometries of a model; `queries` asks pairs of them, `scene` all
pairs of a model (`placement`) that `filters` let touch; `table` holds the answers. The queries are compiled
(`soacraft/contact/` of the core).
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
