"""The page of errata: the true forms hold, the printed ones do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

EXT = str(Path(__file__).parents[2] / "docs" / "_ext")
sys.path.insert(0, EXT)
try:
    import errata
finally:
    sys.path.remove(EXT)

COMPARED = [x for x in errata.ERRATA if isinstance(x.witness, errata.Compared)]


@pytest.mark.parametrize("erratum", COMPARED, ids=lambda x: x.place)
def test_what_is_true_holds_and_what_is_printed_does_not(erratum):
    printed, true = erratum.witness.errors()
    assert true < 1e-9
    assert printed is None or printed > 1e-2


def test_every_misprint_of_the_listings_is_there():
    from tests.pycraft import printed

    places = {x.place.split(",")[0] for x in errata.ERRATA}
    mended = [f"000 Listing {number}" if number.isdigit() else f"000 {number}" for number in printed.MENDED]
    assert set(mended) <= places


def test_every_erratum_has_a_reason_of_its_own():
    for x in errata.ERRATA:
        assert x.printed != x.true
        assert errata.witness(x.witness)
