"""Rollouts: many fixed steps from one state or a batch in one compiled call, without a record of what acts."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
