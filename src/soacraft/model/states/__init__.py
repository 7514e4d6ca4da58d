"""States of a model: coordinates read, named and drawn at random, moved along their tangent space.

`state` holds a state with all that was computed for it, `current` a model's; `kinematics` the motion of any frame.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
