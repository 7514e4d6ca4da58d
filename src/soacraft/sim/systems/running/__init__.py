"""Evaluation of a system in time: calls in their order, ticks, values, and the flow that a propagator carries along."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
