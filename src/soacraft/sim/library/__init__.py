"""The components that come along: sources, controllers, filters, actuators, sensors. Each is in `COMPONENTS`."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
