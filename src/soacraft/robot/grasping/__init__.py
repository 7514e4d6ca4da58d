"""Objects in hands: what is held and how, how hands share a load, whether a grasp holds."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
