"""System files: the format `soacraft-system/1`, as TOML or JSON.

In: bytes that may be hostile, and the classes that they may name. Out: a `System`; and back. `schema` says what is
where. Nothing is imported, evaluated or looked for outside of the folder of the file.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
