"""Parts of a model other than bodies: closures and couplings, springs and tendons, gears, records of files."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
