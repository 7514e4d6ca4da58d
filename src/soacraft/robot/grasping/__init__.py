"""Objects in hands: holds, the share of hands in a load, the strength of a grasp."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
