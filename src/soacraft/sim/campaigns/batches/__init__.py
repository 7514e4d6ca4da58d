"""Batches of runs: what lets the runs of a campaign march together, and the march."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
