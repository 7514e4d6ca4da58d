"""No page of the documentation is wider than a screen of 1400 pixels: the pages that `./run docs` has built."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.view.browser import Browser

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"
WIDTH = 1400

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        made.size(WIDTH, 900)
        yield made


def wide(browser, address: str) -> int:
    """Pixels by which a page is wider than the screen."""
    browser.open(address)
    browser.until(f"document.readyState === 'complete' && location.href.startsWith({address!r})")
    return browser.run("document.documentElement.scrollWidth") - WIDTH


def test_no_page_is_wider_than_the_screen(browser):
    pages = sorted(path for path in BUILT.rglob("*.html") if "_static" not in path.parts)
    if not pages:
        pytest.skip("the pages are not built: ./run docs")
    beyond = {path.relative_to(BUILT).as_posix(): wide(browser, path.as_uri()) for path in pages}
    assert {name: more for name, more in beyond.items() if more > 0} == {}


def test_a_page_that_is_too_wide_is_noticed(browser, tmp_path):
    page = tmp_path / "wide.html"
    page.write_text("<!doctype html><div style='width: 1500px; height: 1px'></div>")
    assert wide(browser, page.as_uri()) >= 100
