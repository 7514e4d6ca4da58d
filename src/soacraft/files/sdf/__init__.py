"""SDF, the format of Gazebo and Drake: `read_sdf`.

In: a file, with what it includes. Out: a `Multibody` with its import report. `source.py` reads elements and says what
became of each, `scopes.py` gathers links, joints and frames by their scoped names, `frames.py` resolves poses,
`joints.py` makes hinges, `build.py` makes the model.
"""

from soacraft.files.sdf.build import read_sdf

__all__ = ["read_sdf"]


def __dir__() -> list[str]:
    return __all__
