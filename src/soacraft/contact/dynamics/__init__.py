"""From shapes that touch to impulses: `surfaces` (friction and restitution of pairs), `rows` (velocities at contacts by
dofs), `impulses` (the contact problem of a step or an impact, with restitution).
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
