"""Results of a run: rows, files, reports, a bar while it goes on."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
