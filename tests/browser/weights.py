"""`python -m tests.browser.weights`: serves a demonstration and prints what a browser loads for its pages."""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, StorageState

from tests.browser.chromium import chromium, new_context
from tests.browser.people import LOGIN, START
from tests.browser.screenshots import demonstration, session_of
from tests.browser.viewports import LIGHT

_FRAMES = 10_000
"""How long a page may load: about three minutes."""

SHOWN = (
    ("Login", LOGIN),
    ("Home", START),
    ("Alerts", "/admin/alerting/alert/"),
    ("An alert", "/admin/alerting/alert/ first row"),
    ("Rules", "/admin/alerting/alertconfig/"),
    ("A new alert configuration", "/admin/alerting/alertconfig/add/"),
    ("Deliveries", "/admin/alerting/notification/"),
    ("Hosts", "/admin/automation/host/"),
    ("A host", "/admin/automation/host/ first row"),
    ("Changes", "/admin/events/event/"),
    ("Reference of the API", "/api/docs/"),
)
"""The rows of the table in docs/performance.md: a name, and a path, or the first row of the list there."""


@dataclass
class Weight:
    """What a visit of a page loaded: bytes over the wire, with headers; `html` of the page itself.

    `cached` are the bytes that its files from the cache were when they came over the wire.
    """

    requests: int = 0
    html: int = 0
    total: int = 0
    cached: int = 0
    largest: list[tuple[int, str]] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The bytes of a visit with an empty cache."""
        return self.total + self.cached

    def __str__(self) -> str:
        files = ", ".join(f"{name} {size:,}" for size, name in sorted(self.largest, reverse=True)[:5])
        return f"{self.total:,} B in {self.requests} requests and {self.cached:,} B from the cache ({files})"


class Scales:
    """Adds up what a page loads, as Chromium counts it. The first visit has to be cold."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._weight = Weight()
        self._loading: dict[str, tuple[str, str]] = {}
        self._sizes: dict[str, int] = {}
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.on("Network.requestWillBeSent", self._sent)
        self._session.on("Network.loadingFinished", self._finished)
        self._session.on("Network.loadingFailed", self._failed)
        self._session.send("Network.enable")

    def weigh(self, address: str, *, cold: bool) -> Weight:
        """Open the page, with an empty cache if `cold`, and wait until it has loaded everything."""
        self._page.goto("about:blank")
        if cold:
            self._session.send("Network.clearBrowserCache")
        self._weight, self._loading = Weight(), {}
        self._page.goto(address)
        self._page.evaluate("document.fonts.ready.then(() => null)")
        for _ in range(_FRAMES):
            if not self._loading:
                return self._weight
            self._page.evaluate("new Promise(requestAnimationFrame).then(() => null)")
        raise AssertionError(f"{address}: still loading {self._loading.values()}")

    def _sent(self, event: dict[str, Any]) -> None:
        self._loading[event["requestId"]] = (event.get("type", ""), event["request"]["url"])

    def _failed(self, event: dict[str, Any]) -> None:
        self._loading.pop(event["requestId"], None)

    def _finished(self, event: dict[str, Any]) -> None:
        kind, url = self._loading.pop(event["requestId"], ("", ""))
        size = int(event["encodedDataLength"])
        if not size:
            self._weight.cached += 0 if url.startswith("data:") else self._sizes[url]
            return
        self._sizes[url] = size
        self._weight.requests += 1
        self._weight.total += size
        self._weight.largest.append((size, url.rstrip("/").rpartition("/")[2]))
        if kind == "Document":
            self._weight.html += size


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
        with closing(new_context(browser, url, LIGHT, None if path == LOGIN else session)) as context:
            page = context.new_page()
            address, scales = _address(page, path), Scales(page)
            cold, warm = scales.weigh(address, cold=True), scales.weigh(address, cold=False)
        sizes = " | ".join(f"{size / 1000:,.1f} kB" for size in (cold.total, cold.html, warm.total))
        yield f"| {name} | {cold.requests} | {sizes} |"


def _address(page: Page, path: str) -> str:
    listed, is_row, _ = path.partition(" first row")
    if not is_row:
        return path
    page.goto(listed)
    # The first row is the header's.
    link = page.get_by_role("table").get_by_role("row").nth(1).get_by_role("link").first
    return link.get_attribute("href") or ""


if __name__ == "__main__":
    main()
