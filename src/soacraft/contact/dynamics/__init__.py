"""Impulses from shapes that touch: `surfaces` (friction and restitution of pairs; `mujoco`, the settings of MJCF),
`rows` (velocities at contacts by dofs), `impulses` (the contact problem of a step or an impact), `restitution` (its
laws, and the order of impacts), `plastic` (bodies that join).
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
