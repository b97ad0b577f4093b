"""The hand of a person at the console, which counts clicks and loaded pages."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, Request

from tests.plugin import SUMMARY


@dataclass(frozen=True)
class Task:
    """What a person comes for.

    `most` are the clicks that it may take. `before`: the clicks and loads in an earlier console.
    """

    number: int
    what: str
    most: int
    before: str


@dataclass
class Hand:
    """Acts on a page.

    `clicks` are clicks, filled fields and chosen options. `loads` are the documents that the page asked for,
    the first included; a redirect is part of the load before.
    """

    page: Page
    record: Callable[[str, object], None]
    clicks: int = 0
    loads: int = 0

    def __post_init__(self) -> None:
        self.page.on("request", self._see)

    def click(self, target: Locator) -> None:
        """A link, a button or a checkbox."""
        self.clicks += 1
        target.click()

    def fill(self, field: Locator, text: str) -> None:
        """Type into a field."""
        self.clicks += 1
        field.fill(text)

    def choose(self, field: Locator, option: str) -> None:
        """Choose an option by its words or its value."""
        self.clicks += 1
        field.select_option(option)

    def has_done(self, task: Task) -> None:
        """Record the numbers of the task, and check its clicks."""
        numbers = f"clicks {self.clicks:>2} of {task.most:>2}, loads {self.loads}"
        self.record(SUMMARY, f"task {task.number:>2}: {numbers}: {task.what} (before: {task.before})")
        assert self.clicks <= task.most

    def _see(self, request: Request) -> None:
        is_document = request.is_navigation_request() and request.frame == self.page.main_frame
        self.loads += is_document and request.redirected_from is None
