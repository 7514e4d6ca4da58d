from tests.strategies import counted_draws  # noqa: F401  used by every test here
