"""Standing: contacts in, regions, margins and forces out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
