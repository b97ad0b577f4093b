"""From an empty directory to the page of a replica set, as a newcomer does it: README, console, agent.

`OPSAPI_TEST_PICTURES=directory` keeps the pictures of the pages.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import fits_its_window, no_serious_faults
from tests.browser.chromium import chromium, new_context
from tests.browser.faults import Faults
from tests.browser.people import fill_in_the_set_up
from tests.browser.viewports import LIGHT
from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.processes.mongod import RunningReplicaSet, replica_set
from tests.processes.newcomer import second_terminal, setup_link_of
from tests.processes.platform import RunningPlatform
from tests.processes.terminal import Terminal

pytestmark = [
    pytest.mark.processes,
    pytest.mark.chromium,
    pytest.mark.mongod,
    pytest.mark.skipif(not LONG, reason="takes a minute: make faults"),
]

RecordProperty = Callable[[str, object], None]


@pytest.fixture(scope="module")
def members() -> Iterator[RunningReplicaSet]:
    """A replica set with a hidden member, an arbiter and a user for the agent."""
    with replica_set() as running:
        yield running


def test_the_way_from_nothing_to_the_page_of_a_replica_set(
    platform: RunningPlatform, members: RunningReplicaSet, tmp_path: Path, record_property: RecordProperty
) -> None:
    pictures = Path(os.environ.get("OPSAPI_TEST_PICTURES", tmp_path))
    began = time.monotonic()
    times: list[str] = []

    def reached(stage: str) -> None:
        times.append(f"{stage} {time.monotonic() - began:.0f} s")

    platform.start()
    reached("the platform is ready after")
    with chromium() as browser, closing(new_context(browser, platform.base_url, LIGHT)) as context:
        faults = Faults(context, platform.base_url)
        page = context.new_page()
        page.goto(setup_link_of(platform))
        page.screenshot(path=pictures / "set-up.png", full_page=True)
        fill_in_the_set_up(page)
        page.wait_for_url("**/admin/mail-server/")
        reached("the first user is logged in after")
        _add_presets(page)
        _add_agent(page)
        page.screenshot(path=pictures / "add-agent.png", full_page=True)
        with second_terminal(platform, tmp_path / "database") as terminal:
            assert "FAILED" not in _install_agent(page, terminal, members.seed)
            expect(page.get_by_role("link", name=members.primary().address)).to_be_visible()
            reached("the page of the agent lists the hosts after")
            page.screenshot(path=pictures / "agent-added.png", full_page=True)
            page.get_by_role("link", name=members.primary().address).click()
            page.get_by_role("navigation", name="Metrics").wait_for()
            reached("the page of the primary has measurements after")
            no_serious_faults(page)
            fits_its_window(page)
            page.screenshot(path=pictures / "replica-set-member.png", full_page=True)
        assert not faults.all(), "\n".join(faults.all())
    record_property(SUMMARY, ", ".join(times))


def _add_presets(page: Page) -> None:
    """From the step of the mail server: the presets of MongoDB, for the members of the project."""
    page.get_by_role("link", name="What should wake you?").last.click()
    page.get_by_label("Notify").select_option("GROUP")
    page.get_by_role("button", name="Add presets").click()


def _add_agent(page: Page) -> None:
    """The last step of the set-up, for the only project."""
    page.get_by_label("MongoDB").check()
    page.get_by_label("Description").fill("on the machine of the database")
    page.get_by_role("button", name="Create key").click()
    page.get_by_text("Waiting for the first report").wait_for()


def _install_agent(page: Page, terminal: Terminal, seed: str) -> str:
    """Type the commands of the page; return what the check prints. The agent runs until the terminal ends."""

    def command(label: str) -> str:
        return page.get_by_role("group", name=label, exact=True).inner_text()

    terminal.run(f'cd "$TMPDIR"\n{command("download the agent")}')
    settings = re.sub(r"(?m)^(OPSAPI_AGENT_MONGODB)=.*", rf'\1="{seed}"', command("the settings"))
    terminal.run(f"{command('write the settings')} <<'END'\n{settings}\nEND")
    checked = terminal.run(command("check the agent"))
    terminal.run(f"{command('start the agent')} &")
    return checked
