"""Control laws: a state and a target in, a generalized force out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
