"""Frames of a model: the inertial frame, bodies, nodes; the two frames of a hinge; frames that the user moves."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
