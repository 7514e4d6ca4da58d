"""A component: quantities as declarations, equations as functions whose arguments are what they depend on."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
