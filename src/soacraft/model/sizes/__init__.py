"""The sizes of a model: its lengths, its time, units of its dofs and closures. Small is what is small next to them."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
