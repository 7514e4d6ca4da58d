"""Structure that changes while a system runs: edits of a moving model, and the phases of a mission."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
