"""The tests of this directory notice what no page may do."""

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.accessibility import fits_its_window, no_serious_faults, tab_to
from tests.browser.faults import Faults
from tests.browser.site import Site

pytestmark = pytest.mark.chromium

STRICT = "/api/docs/"
"""A page whose policy allows no inline script."""
INLINE = "node = document.createElement('script'); node.text = 'a = 1'; document.body.append(node)"
THROW = "new Promise(done => setTimeout(() => { setTimeout(done); throw new Error('thrown') }))"
REJECT = """new Promise(done => {
    addEventListener("unhandledrejection", () => setTimeout(done));
    Promise.reject(new Error("rejected"));
})"""
FOREIGN = "http://192.0.2.1/x"


@pytest.fixture
def faults(context: BrowserContext, site: Site) -> Faults:
    """Collects, and fails nothing."""
    return Faults(context, site.url)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("console.error('told')", ["console: told"]),
        ("console.assert(false, 'told')", ["console: told"]),
        ("console.warn('told')", []),
        (THROW, ["script: thrown"]),
        (REJECT, ["script: rejected"]),
    ],
    ids=["error", "assertion", "warning", "throws", "rejects"],
)
def test_it_hears_the_console_and_the_scripts(
    script: str, found: list[str], context: BrowserContext, page: Page, faults: Faults
) -> None:
    page.evaluate(script)
    context.close()
    assert faults.all() == found


def test_it_sees_another_host_being_asked(context: BrowserContext, page: Page, faults: Faults) -> None:
    with page.expect_event("requestfailed"):
        page.evaluate(f"fetch('{FOREIGN}').catch(() => 0)")
    context.close()
    assert [f"another host was asked: GET {FOREIGN}"] == faults.all()[:1]


def test_no_name_leads_anywhere(page: Page) -> None:
    with page.expect_event("requestfailed") as failed:
        page.evaluate("fetch('http://localhost/').catch(() => 0)")
    assert failed.value.failure == "net::ERR_NAME_NOT_RESOLVED"


def test_it_hears_of_a_page_that_breaks_its_policy(
    context: BrowserContext, page: Page, faults: Faults
) -> None:
    page.goto(STRICT)
    page.evaluate(INLINE)
    context.close()
    assert len(faults.all()) == 1
    assert "Content Security Policy" in faults.all()[0]


def test_it_sees_an_answer_nobody_expected(context: BrowserContext, page: Page, faults: Faults) -> None:
    page.goto("/none")
    context.close()
    (found,) = faults.all()
    assert found.startswith("answered 404: GET http://127.0.0.1:")


def test_an_expected_answer_is_none_once(context: BrowserContext, page: Page, faults: Faults) -> None:
    faults.expects(404)
    page.goto("/none")
    assert faults.all() == []
    page.goto("/none")
    context.close()
    assert len(faults.all()) == 1


def test_an_expected_answer_that_never_came_is_one(
    context: BrowserContext, page: Page, faults: Faults
) -> None:
    faults.expects(403)
    context.close()
    assert faults.all() == ["an answer 403 never came"]


def test_axe_finds_a_field_without_a_label(page: Page) -> None:
    page.set_content("<html lang=en><title>t</title><main><h1>t</h1><input id=it></main></html>")
    with pytest.raises(AssertionError, match=r"critical label: .*#it"):
        no_serious_faults(page)


def test_a_page_wider_than_its_window_is_found(page: Page) -> None:
    page.set_content("<div style='width: 3000px'>wide</div>")
    with pytest.raises(AssertionError, match="is 3008 px wide in a window of 1280 px"):
        fits_its_window(page)


def test_elements_outside_of_the_keyboards_order_are_found(page: Page) -> None:
    page.set_content("<a href=#>one</a><button tabindex=-1>two</button>")
    with pytest.raises(AssertionError, match="not reached"):
        tab_to(page.get_by_role("button"))


def test_a_focus_that_cannot_be_seen_is_found(page: Page) -> None:
    page.set_content("<button style='outline: none'>one</button>")
    with pytest.raises(AssertionError, match="the focus cannot be seen"):
        tab_to(page.get_by_role("button"))
