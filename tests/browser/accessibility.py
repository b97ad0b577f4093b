"""What axe-core finds on a page, and what it cannot see: a page wider than its window, a lost focus."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, ViewportSize

from tests.browser.viewports import ALSO, Viewport

Check = Callable[[Page], None]
_SERIOUS = frozenset({"serious", "critical"})
_MOST_PRESSES = 100
_FIND = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"
# Not in the middle of a change from color to color.
_FINISH = """new Promise(requestAnimationFrame).then(() => {
    for (const running of document.getAnimations())
        if (running instanceof CSSTransition) running.finish();
})"""


def no_serious_faults(page: Page) -> None:
    """AssertionError with every serious or critical violation: its rule, and what breaks it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    faults = [_described(violation) for violation in page.evaluate(_FIND) if violation["impact"] in _SERIOUS]
    assert not faults, f"{page.url}:\n" + "\n".join(faults)


def fits_its_window(page: Page) -> None:
    """AssertionError when the page has to be moved sideways to be read."""
    width = page.evaluate("document.documentElement.scrollWidth")
    window = page.evaluate("window.innerWidth")
    assert width <= window, f"{page.url} is {width} px wide in a window of {window} px"


def faults_of(page: Page, *checks: Check) -> list[str]:
    """What these checks, or all of them, say of the page as it was opened, and as it looks otherwise."""
    found = list(_failing(page, checks))
    for look in ALSO:
        with _seen(page, look):
            found.extend(_failing(page, checks))
    return found


def is_for_everybody(page: Page) -> None:
    """AssertionError with every fault of the page, in any look."""
    found = faults_of(page)
    assert not found, "\n".join(found)


def is_for_everybody_as_opened(page: Page) -> None:
    """AssertionError with the first fault of the page, only in its present look."""
    no_serious_faults(page)
    fits_its_window(page)


def _failing(page: Page, checks: Sequence[Check]) -> Iterator[str]:
    for check in checks or (no_serious_faults, fits_its_window):
        try:
            check(page)
        except AssertionError as fault:
            yield str(fault)


@contextmanager
def _seen(page: Page, look: Viewport) -> Iterator[None]:
    """In the block the page, which was opened in light, is looked at differently."""
    before = page.viewport_size
    _show(page, look.color_scheme, {"width": look.width, "height": look.height})
    yield
    _show(page, "light", before)


def _show(page: Page, colors: Literal["light", "dark"], size: ViewportSize | None) -> None:
    page.emulate_media(color_scheme=colors)
    # The console asks for the preference when it is opened; its switch of the colors sets this class.
    page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", colors == "dark")
    if size:
        page.set_viewport_size(size)
    page.evaluate(_FINISH)


def tab_to(target: Locator) -> None:
    """Presses Tab until the target has the focus, and shows it; AssertionError when it is not reached."""
    page = target.page
    for _ in range(_MOST_PRESSES):
        page.keyboard.press("Tab")
        if target.evaluate("node => node === document.activeElement"):
            assert target.evaluate(_SHOWS_FOCUS), f"{target}: the focus cannot be seen"
            return
    raise AssertionError(f"{target}: not reached by {_MOST_PRESSES} times Tab")


_SHOWS_FOCUS = """node => {
    const style = getComputedStyle(node);
    return style.outlineStyle !== "none" || style.boxShadow !== "none";
}"""


def _described(violation: dict[str, Any]) -> str:
    places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
    return f"  {violation['impact']} {violation['id']}: {violation['help']}: {'; '.join(places)}"
