"""The machine's own Chromium, without a window, which reaches nothing but this machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, StorageState, expect, sync_playwright

from tests.browser.viewports import Viewport

DEADLINE = 60_000.0
"""How long an action waits for what it acts on, and `expect` for what it expects, in milliseconds."""

PROGRAMS = ("chromium-headless-shell", "chromium")
"""The first that the machine has: the shell draws the same pages without a browser's windows around them, in
three quarters of the CPU time."""

# No other host is found; `Faults` reports that a page asked for it.
_NOWHERE_ELSE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@contextmanager
def chromium() -> Iterator[Browser]:
    """It runs until the end of the block."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program, f"none of {', '.join(PROGRAMS)} is on PATH"
    expect.set_options(timeout=DEADLINE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[_NOWHERE_ELSE])
        yield browser
        browser.close()


def new_context(
    browser: Browser, url: str, look: Viewport, session: StorageState | None = None
) -> BrowserContext:
    """A new browser, or a browser with the cookies of a session; paths are below `url`."""
    context = browser.new_context(
        base_url=url,
        storage_state=session,
        color_scheme=look.color_scheme,
        reduced_motion="reduce",
        has_touch=look.has_touch,
        viewport={"width": look.width, "height": look.height},
    )
    context.set_default_timeout(DEADLINE)
    return context
