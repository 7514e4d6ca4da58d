"""The whole body: tasks in, velocities of all dofs out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
