"""`python -m tests.browser.screenshots`: serves a demonstration and takes the pictures of the documents."""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect

from tests.benchmarks.scene import forget_foreign_settings
from tests.browser.chromium import chromium, new_context
from tests.browser.faults import Faults
from tests.browser.people import LOGIN, START, log_in
from tests.browser.viewports import DARK, LIGHT, PHONE, Viewport
from tests.processes.platform import ROOT, installation

DIRECTORY = ROOT / "docs" / "screenshots"
_LIGHT, _DARK = (replace(look, width=1360, height=850) for look in (LIGHT, DARK))
_METRICS = "OUTSIDE_METRIC_THRESHOLD"
# Of who may log in, the first may do everything.
_PRINTED = re.compile(r"^  (\S+) +password (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Shot:
    """One picture: a page, or what the first row of the list there leads to."""

    name: str
    path: str
    look: Viewport = _LIGHT
    opens_first_row: bool = False
    logged_in: bool = True


SHOTS = (
    Shot("start-light", START),
    Shot("start-dark", START, _DARK),
    Shot("start-phone", START, PHONE),
    Shot("set-light", "/admin/automation/replicaset/?q=accounts", opens_first_row=True),
    Shot("alert-light", f"/admin/alerting/alert/?state=all&type={_METRICS}", opens_first_row=True),
    Shot("configuration-light", f"/admin/alerting/alertconfig/?event_type={_METRICS}", opens_first_row=True),
    Shot("events-light", "/admin/events/event/"),
    Shot("login-light", LOGIN, logged_in=False),
)


@dataclass(frozen=True)
class ScreenshotOperator:
    """Who logs in to what is served at `url`."""

    url: str
    username: str
    password: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Take the pictures that are asked for."""
    options = _parser().parse_args(arguments)
    options.into.mkdir(parents=True, exist_ok=True)
    wanted = [shot for shot in SHOTS if shot.name in options.shots]
    with demonstration() as operator, chromium() as browser:
        for path in take(wanted, browser, operator, options.into):
            sys.stdout.write(f"{path}\n")


def take(shots: Iterable[Shot], browser: Browser, operator: ScreenshotOperator, into: Path) -> Iterator[Path]:
    """Each as `<name>.png`; AssertionError when a page does what none may."""
    session = session_of(browser, operator)
    for shot in shots:
        context = new_context(browser, operator.url, shot.look, session if shot.logged_in else None)
        faults = Faults(context, operator.url)
        with closing(context):
            path = into / f"{shot.name}.png"
            _open(shot, context).screenshot(path=path, animations="disabled")
        assert not faults.all(), "\n".join([shot.name, *faults.all()])
        yield path


def session_of(browser: Browser, operator: ScreenshotOperator) -> StorageState:
    with closing(new_context(browser, operator.url, _LIGHT)) as context:
        log_in(context.new_page(), operator.username, operator.password)
        return context.storage_state()


def _open(shot: Shot, context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto(shot.path)
    if shot.opens_first_row:
        # The first is the header's.
        page.get_by_role("table").get_by_role("row").nth(1).get_by_role("link").first.click()
        expect(page).not_to_have_url(shot.path)
    # Fonts and pictures, and what scripts ask for.
    page.wait_for_load_state("networkidle")
    return page


@contextmanager
def demonstration() -> Iterator[ScreenshotOperator]:
    forget_foreign_settings()
    with installation(OPSAPI_ENV_FILE=os.devnull) as platform:
        platform.start()
        filled = platform.manage("demo")
        printed = _PRINTED.search(filled.stdout)
        assert printed, filled.stderr
        yield ScreenshotOperator(platform.base_url, *printed.groups())


def _parser() -> argparse.ArgumentParser:
    names = [shot.name for shot in SHOTS]
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("--shots", nargs="+", choices=names, default=names, help="only these")
    parser.add_argument("--into", type=Path, default=DIRECTORY, help="directory of the pictures")
    return parser


if __name__ == "__main__":
    main()
