"""`python -m tests.browser.weights`: serves a demonstration and prints what a browser loads for its pages."""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from playwright.sync_api import Browser, CDPSession, Page, StorageState

from tests.browser.chromium import chromium, new_context
from tests.browser.people import LOGIN, START
from tests.browser.screenshots import demonstration, session_of
from tests.browser.viewports import LIGHT

COLD_BYTES = 350_000
WARM_BYTES = 30_000
HTML_BYTES = 40_000

SHOWN = (
    ("Login", LOGIN),
    ("Overview", START),
    ("Alerts", "/admin/alerting/alert/"),
    ("An alert", "/admin/alerting/alert/ first row"),
    ("Alert configurations", "/admin/alerting/alertconfig/"),
    ("A new alert configuration", "/admin/alerting/alertconfig/add/"),
    ("Notifications", "/admin/alerting/notification/"),
    ("Hosts", "/admin/automation/host/"),
    ("A host", "/admin/automation/host/ first row"),
    ("Events", "/admin/events/event/"),
    ("Reference of the API", "/api/docs/"),
)
"""The rows of the table in docs/performance.md: a name, and a path, or the first row of the list there."""


@dataclass
class Weight:
    """What one visit of a page loaded: bytes over the wire, with headers, and as they are written."""

    requests: int = 0
    html: int = 0
    total: int = 0
    largest: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        files = ", ".join(f"{name} {size:,}" for size, name in sorted(self.largest, reverse=True)[:5])
        return f"{self.total:,} B in {self.requests} requests ({files})"


class Scales:
    """Adds up what a page loads, as Chromium counts it; files of its cache count nothing."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._weight = Weight()
        self._kinds: dict[str, tuple[str, str]] = {}
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.on("Network.responseReceived", self._received)
        self._session.on("Network.loadingFinished", self._finished)
        self._session.send("Network.enable")

    def weigh(self, address: str) -> Weight:
        """Open the page and wait until it loads nothing any more."""
        self._page.goto("about:blank")
        self._weight, self._kinds = Weight(), {}
        self._page.goto(address)
        self._page.wait_for_load_state("networkidle")
        return self._weight

    def _received(self, event: dict[str, object]) -> None:
        response = event["response"]
        assert isinstance(response, dict)
        self._kinds[str(event["requestId"])] = (str(event["type"]), str(response["url"]))

    def _finished(self, event: dict[str, object]) -> None:
        size = event["encodedDataLength"]
        assert isinstance(size, int | float)
        kind, url = self._kinds.get(str(event["requestId"]), ("", ""))
        if not size:
            return
        self._weight.requests += 1
        self._weight.total += int(size)
        self._weight.largest.append((int(size), url.rpartition("/")[2] or url))
        if kind == "Document":
            self._weight.html += int(size)


def cold_and_warm(
    browser: Browser, url: str, address: str, session: StorageState | None
) -> tuple[Weight, Weight]:
    """What a browser without a cache loads for the page, and what it loads when it comes back."""
    with closing(new_context(browser, url, LIGHT, session)) as context:
        scales = Scales(context.new_page())
        return scales.weigh(address), scales.weigh(address)


def main() -> None:
    """Print the table."""
    with demonstration() as operator, chromium() as browser:
        session = session_of(browser, operator)
        for line in _table(browser, operator.url, session):
            sys.stdout.write(f"{line}\n")


def _table(browser: Browser, url: str, session: StorageState) -> Iterator[str]:
    yield "| page | requests | first visit | HTML | next visit |"
    yield "|---|---|---|---|---|"
    for name, path in SHOWN:
        whose = None if path == LOGIN else session
        cold, warm = cold_and_warm(browser, url, _address(browser, url, path, whose), whose)
        sizes = " | ".join(f"{size / 1000:,.1f} kB" for size in (cold.total, cold.html, warm.total))
        yield f"| {name} | {cold.requests} | {sizes} |"


def _address(browser: Browser, url: str, path: str, session: StorageState | None) -> str:
    listed, is_row, _ = path.partition(" first row")
    if not is_row:
        return path
    with closing(new_context(browser, url, LIGHT, session)) as context:
        page = context.new_page()
        page.goto(listed)
        # The first row is the header's.
        link = page.get_by_role("table").get_by_role("row").nth(1).get_by_role("link").first
        return link.get_attribute("href") or ""


if __name__ == "__main__":
    main()
