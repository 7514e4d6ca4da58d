"""From shapes that touch to impulses: `surfaces` (friction and restitution of pairs; `mujoco`, what MJCF says of them),
`rows` (velocities at contacts by dofs), `impulses` (the contact problem of a step or an impact), `restitution` (its
laws, and the order of impacts), `plastic` (bodies that join).
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
