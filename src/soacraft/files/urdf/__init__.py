"""URDF: our own reader and writer.

`read_urdf` makes a `Multibody` and a report of what became of every element; `write.write_urdf` the other way round,
with a report of what URDF cannot say.
"""

from soacraft.files.urdf.handlers import HANDLERS
from soacraft.files.urdf.read import read_urdf

__all__ = ["HANDLERS", "read_urdf"]


def __dir__() -> list[str]:
    return __all__
