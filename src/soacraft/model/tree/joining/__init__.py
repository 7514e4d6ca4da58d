"""Trees taken apart and put together: models in models, subtrees, copies, turned hinges, names in another model."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
