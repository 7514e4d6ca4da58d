"""Mutants of the Python code that no test can notice, as (file, statement, changed): the reason."""

SURVIVORS: dict[tuple[str, str, str], str] = {}
