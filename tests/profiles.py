"""How many examples hypothesis draws: each test says how many in CI, and other profiles draw in proportion."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants

#: Examples of a test that says nothing, by profile.
EXAMPLES = {"ci": 50, "first": 50, "long": 1000}


def register():
    """The profiles: "ci" is bounded and draws the same every run; "long" draws twenty times as many, new ones;
    "first" ends with the first failure as it was drawn."""
    settings.register_profile(
        "ci",
        max_examples=EXAMPLES["ci"],
        derandomize=True,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    ends = [Phase.explicit, Phase.generate]  # a failure is enough: it is not made smaller
    settings.register_profile("first", settings.get_profile("ci"), phases=ends)
    settings.register_profile("long", settings.get_profile("ci"), max_examples=EXAMPLES["long"], derandomize=False)


def load(name):
    """Load a profile, and make its draws depend on the test alone where it promises the same every run.

    One draw in twenty is a constant, and half of these are numbers and words that hypothesis reads in the source of the
    modules imported so far. A new number anywhere in the package, or another order of tests, would change the draws of
    every test. Hypothesis has no setting for it, so its provider is told that there are none. The constants that
    hypothesis brings itself (zeros, limits of types, odd text) are drawn as before.
    """
    settings.load_profile(name)
    if settings.default.derandomize:
        HypothesisProvider._local_constants = Constants()


def tries(count):
    """Settings with so many examples in CI, and in proportion in the profile that is loaded: @tries(10)."""
    return settings(max_examples=max(1, count * settings.default.max_examples // EXAMPLES["ci"]))
