"""Estimation: readings in; predicted states, forces from outside, base, payload and offsets out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
