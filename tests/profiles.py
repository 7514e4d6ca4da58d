"""How many examples hypothesis draws: each test says how many in CI, and other profiles draw in proportion."""

from hypothesis import HealthCheck, settings

#: Examples of a test that says nothing, by profile.
EXAMPLES = {"ci": 50, "long": 1000}


def register():
    """The profiles: "ci" is bounded and draws the same every run; "long" draws twenty times as many, new ones."""
    settings.register_profile(
        "ci",
        max_examples=EXAMPLES["ci"],
        derandomize=True,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile("long", settings.get_profile("ci"), max_examples=EXAMPLES["long"], derandomize=False)


def tries(count):
    """Settings with so many examples in CI, and in proportion in the profile that is loaded: @tries(10)."""
    return settings(max_examples=max(1, count * settings.default.max_examples // EXAMPLES["ci"]))
