"""Components that are joined: wiring, order, time, and what carries them along with a model."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
