"""What pages load, and that they load all that they use."""

import pytest
from django.contrib import admin
from playwright.sync_api import Page

from accesslist.models import Project
from opsapi.console.admin_urls import list_url
from tests.admin.rows import fill, record_event
from tests.browser.people import LOGIN, START
from tests.browser.test_pages import addresses
from tests.browser.weights import Scales

pytestmark = pytest.mark.chromium

COLD_BYTES = 350_000
WARM_BYTES = 30_000
HTML_BYTES = 40_000

# An icon is a ligature as wide as it is high; without it, the letters of its name are shown.
_BROKEN_ICONS = """() => [...document.querySelectorAll(".material-symbols-outlined")].filter((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getBoundingClientRect().width > 1.2 * parseFloat(getComputedStyle(node).fontSize);
}).map((node) => node.textContent.trim())"""
_LEFT_OUT = ("hx-", "x-sort", "x-anchor")
"""Attributes of scripts of the theme that no page loads."""
_ATTRIBUTES = """() => [...document.querySelectorAll("*")].flatMap((node) => node.getAttributeNames())"""


def test_no_page_is_heavy_or_lacks_a_script_or_an_icon(console: Page, project: Project) -> None:
    fill(project)
    record_event(project)
    scales, faults = Scales(console), []
    cold = scales.weigh(START, cold=True)
    assert scales.weigh(START, cold=False).cached == cold.total - cold.html, "the size of each file is known"
    for address in sorted(_all_addresses(project)):
        weight = scales.weigh(address, cold=False)
        faults += [f"{address}: without icon: {name}" for name in console.evaluate(_BROKEN_ICONS)]
        faults += [f"{address}: {name}" for name in _names(console) if name.startswith(_LEFT_OUT)]
        first = weight.first
        if weight.total > WARM_BYTES:  # with files that only this page has
            weight = scales.weigh(address, cold=False)
        if first > COLD_BYTES or weight.html > HTML_BYTES or weight.total > WARM_BYTES:
            faults.append(f"{address}: {first:,} B on a first visit; then {weight}")
    assert not faults, "\n".join(faults)


def test_log_in_is_light(page: Page) -> None:
    scales = Scales(page)
    cold, warm = scales.weigh(LOGIN, cold=True), scales.weigh(LOGIN, cold=False)
    assert cold.total < 150_000, cold
    assert warm.requests == 1, warm
    assert page.evaluate("document.fonts.check('600 14px Inter')")


def _all_addresses(project: Project) -> set[str]:
    return {*addresses(project), *(list_url(model) for model in admin.site._registry)}


def _names(page: Page) -> set[str]:
    return set(page.evaluate(_ATTRIBUTES))
