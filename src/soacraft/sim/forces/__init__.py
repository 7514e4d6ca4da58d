"""Forces and motions in a run beside the model itself: loads, elements, friction, drives, prescribed motions."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
