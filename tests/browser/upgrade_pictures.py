"""`python -m tests.browser.upgrade_pictures`: upgrades a replica set, and takes the pictures of its plan.

Agents of three machines upgrade three real servers. Each picture waits until the API says that its moment has
come.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.benchmarks.scene import forget_foreign_settings
from tests.browser.chromium import chromium, new_context
from tests.browser.faults import Faults
from tests.browser.people import log_in
from tests.browser.viewports import LIGHT
from tests.eventually import eventually
from tests.processes.automated_set import MACHINES, AutomatedSet, automated_set
from tests.processes.conftest import FIRST_USER, make_first_user
from tests.processes.platform import ROOT, installation
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver, MailReceiver

DIRECTORY = ROOT / "docs" / "screenshots"
OLD, NEW = "4.4.2", "5.0.4"
SET = "orders"
NAMES = tuple(f"{SET}_{number}" for number in range(len(MACHINES)))
_LOOK = replace(LIGHT, width=1280, height=800)
_MINUTES = 600.0
Statuses = Mapping[str, Mapping[str, Any]]


def states(statuses: Statuses, kind: str) -> dict[str, str]:
    """The state of the last move of this kind, by process. Moves of the first publication do not count."""
    return {
        name: move["state"]
        for name, status in statuses.items()
        for move in status.get("plan", {}).get("moves", ())
        if move["move"] == kind and OLD not in move.get("detail", "")
    }


def _has(statuses: Statuses, kind: str, *wanted: str) -> bool:
    return bool(set(wanted) & set(states(statuses, kind).values()))


def _is_former_primary(statuses: Statuses) -> bool:
    """The process that stepped down restarts, after the others."""
    changed = states(statuses, "CHANGE_VERSION")
    return sorted(changed.values()) == ["DONE", "DONE", "RUNNING"]


MOMENTS: Sequence[tuple[str, Callable[[Statuses], bool]]] = (
    ("downloads", lambda statuses: _has(statuses, "DOWNLOAD", "RUNNING", "DONE")),
    ("first secondary", lambda statuses: _has(statuses, "CHANGE_VERSION", "RUNNING")),
    ("step-down", lambda statuses: _has(statuses, "STEP_DOWN", "RUNNING", "DONE")),
    ("former primary", _is_former_primary),
    (
        "feature compatibility version",
        lambda statuses: _has(statuses, "SET_FEATURE_VERSION", "RUNNING", "DONE"),
    ),
)
"""The moments of the upgrade in their order, after its publication and before its end."""
PICTURES = len(MOMENTS) + 2
"""The number of the pictures: also of the plan before the publication, and of the end."""


@dataclass(frozen=True)
class UpgradeFilm:
    """The pictures of an upgrade, `upgrade-1.png` and so on."""

    replica_set: AutomatedSet
    page: Page
    into: Path

    def take(self, scenario: Scenario) -> Iterator[Path]:
        """Upgrade the replica set, and yield each picture."""
        old = [self.replica_set.process(name, release=OLD) for name in NAMES]
        self.replica_set.reaches(self.replica_set.publish(*old), *NAMES)
        plan = f"/admin/automation-plan/?project={scenario.group}"
        self.page.goto(plan)
        self.page.get_by_role("link", name="Change the configuration").click()
        text = self.page.get_by_label("Configuration")
        text.fill(_upgraded(text.input_value()))
        self.page.get_by_role("button", name="Show the plan").click()
        draft = self.page.locator("section", has=self.page.locator("#draft-plan"))
        yield self._shoot(1, draft)
        self.page.get_by_role("button", name="Publish").click()
        for number, (moment, has_come) in enumerate(MOMENTS, 2):
            eventually(
                lambda has_come=has_come: has_come(self.replica_set.statuses()),  # type: ignore[misc]
                _MINUTES,
                message=moment,
                longest_pause=0.1,
            )
            self.page.goto(plan)
            yield self._shoot(number)
        self.replica_set.reaches(2, *NAMES)
        self.page.goto(plan)
        yield self._shoot(PICTURES)

    def _shoot(self, number: int, part: Any = None) -> Path:
        path = self.into / f"upgrade-{number}.png"
        if part is None:
            self.page.screenshot(path=path, animations="disabled", full_page=True)
        else:
            part.screenshot(path=path, animations="disabled")
        return path


def _upgraded(text: str) -> str:
    """The document with the new version in each process."""
    return text.replace(f'"version": "{OLD}"', f'"version": "{NEW}"').replace(
        f'"featureCompatibilityVersion": "{OLD.rpartition(".")[0]}"',
        f'"featureCompatibilityVersion": "{NEW.rpartition(".")[0]}"',
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.upgrade_pictures", description=__doc__)
    parser.add_argument("--into", type=Path, default=DIRECTORY, help="directory of the pictures")
    into = parser.parse_args(arguments).into
    into.mkdir(parents=True, exist_ok=True)
    forget_foreign_settings()
    with (
        HttpReceiver().running() as receiver,
        MailReceiver().running() as mail_server,
        installation(OPSAPI_ENV_FILE=os.devnull) as platform,
        chromium() as browser,
    ):
        platform.start()
        scenario = Scenario(RunningSite(platform, mail_server, make_first_user(platform)), receiver)
        url = platform.base_url
        with (
            automated_set(
                scenario, *MACHINES, versions=(OLD, NEW), name=SET, has_builds=False
            ) as replica_set,
            closing(new_context(browser, url, _LOOK)) as context,
        ):
            faults = Faults(context, url)
            page = context.new_page()
            log_in(page, **FIRST_USER)
            for path in UpgradeFilm(replica_set, page, into).take(scenario):
                sys.stdout.write(f"{path}\n")
                sys.stdout.flush()
            assert not faults.all(), "\n".join(faults.all())


if __name__ == "__main__":
    main()
