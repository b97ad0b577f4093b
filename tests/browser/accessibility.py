"""What axe-core finds on a page, and what it cannot see: a page wider than its window, a lost focus."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

_SERIOUS = frozenset({"serious", "critical"})
_MOST_PRESSES = 100
_AXE = Axe()


def no_serious_faults(page: Page) -> None:
    """AssertionError with every serious or critical violation: its rule, and what breaks it."""
    found = _AXE.run(page).response["violations"]
    faults = [_described(violation) for violation in found if violation["impact"] in _SERIOUS]
    assert not faults, f"{page.url}:\n" + "\n".join(faults)


def fits_its_window(page: Page) -> None:
    """AssertionError when the page has to be moved sideways to be read."""
    width = page.evaluate("document.documentElement.scrollWidth")
    window = page.evaluate("window.innerWidth")
    assert width <= window, f"{page.url} is {width} px wide in a window of {window} px"


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
