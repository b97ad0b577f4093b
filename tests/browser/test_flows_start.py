"""The start page keeps itself current. Its time is moved by the test: nobody waits ten seconds."""

import re

import pytest
from playwright.sync_api import Locator, Page, Response, expect

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert
from tests.browser.faults import Faults
from tests.browser.people import START
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.chromium

EVERY = 10_000
"""Milliseconds between two refreshes."""


@pytest.fixture
def start(console: Page, project: Project) -> Page:
    """The start page, with an alert on it and a clock that the test moves."""
    make_alert(project)
    console.clock.install()
    console.goto(START)
    expect(_alerts(console)).to_have_count(1)
    return console


def _alerts(page: Page) -> Locator:
    return page.get_by_role("region", name="Open and pending alerts").get_by_role("link", name="Host down")


def _close_all() -> None:
    Alert.objects.update(status=AlertStatus.CLOSED.value)


def test_an_alert_that_closes_disappears_without_reloading(start: Page) -> None:
    start.evaluate("window.isTheSame = true")
    _close_all()
    start.clock.fast_forward(EVERY)
    expect(_alerts(start)).to_have_count(0)
    expect(start.get_by_text("No open alerts.")).to_be_visible()
    assert start.evaluate("window.isTheSame")


def test_a_refresh_without_changes_is_short_and_updates_the_time(start: Page) -> None:
    url = start.locator("#overview").get_attribute("data-url")
    answers = (_refresh(start, f"**{url}") for _ in range(20))
    assert any(answer.status == 304 for answer in answers)
    expect(start.get_by_text("Last refreshed")).to_have_text(re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ$"))
    expect(_alerts(start)).to_have_count(1)
    _close_all()
    start.clock.fast_forward(EVERY)
    expect(_alerts(start)).to_have_count(0)


def _refresh(page: Page, url: str) -> Response:
    with page.expect_response(url) as answer:
        page.clock.fast_forward(EVERY)
    return answer.value


def test_it_says_that_the_server_is_gone_and_that_it_is_back(start: Page, faults: Faults) -> None:
    faults.expects_no_answer()
    start.context.set_offline(True)
    start.clock.fast_forward(EVERY)
    gone = start.get_by_text("Connection lost").first
    expect(gone).to_be_visible()
    expect(_alerts(start)).to_have_count(1)
    _close_all()
    start.context.set_offline(False)
    start.clock.fast_forward(EVERY)
    expect(_alerts(start)).to_have_count(0)
    expect(gone).to_be_hidden()
