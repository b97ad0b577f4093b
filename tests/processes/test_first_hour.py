"""The first hour with only the README: clone, `make run`, set-up in a browser, an agent on real databases.

Nobody writes an alert configuration: the set-up asks what should wake you. Then databases die, the
demonstration is added, and the agent dies.

`OPSAPI_TEST_PICTURES=directory` keeps the pictures of the pages.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import fits_its_window, no_serious_faults
from tests.browser.chromium import chromium, new_context
from tests.browser.faults import Faults
from tests.browser.people import START, fill_in_the_set_up
from tests.browser.viewports import LIGHT
from tests.eventually import eventually
from tests.plugin import SUMMARY
from tests.processes.mongod import RunningReplicaSet, replica_set
from tests.processes.newcomer import second_terminal, setup_link_of
from tests.processes.platform import ROOT, RunningPlatform, installation
from tests.processes.postgresql import DebianServer, servers
from tests.processes.terminal import Terminal
from tests.receivers import MailReceiver

pytestmark = [
    pytest.mark.processes,
    pytest.mark.chromium,
    pytest.mark.mongod,
    pytest.mark.postgresql,
]

INTERVAL = 2
"""Seconds between two rounds of the agent."""
RecordProperty = Callable[[str, object], None]


@dataclass
class Stopwatch:
    """How long each stage took; nothing is asserted of it."""

    began: float = field(default_factory=time.monotonic)
    lines: list[str] = field(default_factory=list)

    def note(self, stage: str, since: float | None = None) -> None:
        """Note the seconds since the beginning, or since another moment."""
        seconds = time.monotonic() - (self.began if since is None else since)
        self.lines.append(f"{stage} {seconds:.1f} s")


@dataclass(frozen=True)
class Databases:
    """A replica set with a hidden member and an arbiter, and a primary with its standby."""

    mongodb: RunningReplicaSet
    postgresql: DebianServer


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with replica_set() as members, servers(15) as (primary, _):
        yield Databases(members, primary)


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    with MailReceiver().running() as running:
        yield running


@pytest.fixture
def cloned(mail: MailReceiver, tmp_path: Path) -> Iterator[RunningPlatform]:
    """A fresh clone, which `make run` starts, with requirements of its own."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone")
    with installation(EMAIL_URL=f"smtp://127.0.0.1:{mail.port}") as made:
        clone = made.directory / "opsapi"
        subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, clone], check=True)
        del made.environment["PYTHONPATH"]
        made.program = [str(clone / ".venv/bin/python"), str(clone / "manage.py")]
        made.start_command = ["make", "--no-print-directory", "-C", str(clone), "run"]
        yield made


def test_people_are_notified_of_dead_databases_and_agents_without_a_configuration_of_their_own(
    cloned: RunningPlatform,
    databases: Databases,
    mail: MailReceiver,
    tmp_path: Path,
    record_property: RecordProperty,
) -> None:
    pictures = Path(os.environ.get("OPSAPI_TEST_PICTURES", tmp_path))
    watch = Stopwatch()
    cloned.start()
    watch.note("from make run to ready")
    with chromium() as browser, closing(new_context(browser, cloned.base_url, LIGHT)) as context:
        faults = Faults(context, cloned.base_url)
        page = context.new_page()
        page.goto(setup_link_of(cloned))
        _set_up(page, mail, pictures)
        with second_terminal(cloned, tmp_path / "database", at=cloned.directory / "opsapi") as terminal:
            agent = _install_agent(page, terminal, databases)
            primary = databases.mongodb.primary()
            # On a busy machine a poll can come late, and an alert then links the host as well.
            expect(page.get_by_role("link", name=primary.address).first).to_be_visible(timeout=240_000)
            watch.note("from make run to the first report")
            _look_at_a_host(page, primary.address, pictures)

            killed = time.monotonic()
            primary.signal(signal.SIGKILL)
            _await_mail(mail, "Host down", primary.address)
            watch.note(f"primary of MongoDB killed, interval {INTERVAL} s, to its message", killed)
            killed = time.monotonic()
            databases.postgresql.stop(signal.SIGQUIT)
            _await_mail(mail, "Host down", databases.postgresql.address)
            watch.note("primary of PostgreSQL killed to its message", killed)
            page.goto(START)
            page.screenshot(path=pictures / "7-overview.png", full_page=True)

            eventually(lambda: _demo(cloned), message="the demonstration is added")
            page.goto("/admin/automation/agent/")
            reporting = page.locator("#result_list").get_by_text("reporting", exact=True)
            expect(reporting).to_be_visible()
            killed = time.monotonic()
            os.kill(agent, signal.SIGKILL)
            databases.mongodb.end()  # nobody looks at it any more, and it would use the processor
            # The heartbeat timeout of four minutes really passes.
            _await_mail(mail, "Monitoring agent down", "first-project", deadline=600)
            watch.note("agent killed beside the demonstration to its message", killed)
            page.reload()
            expect(reporting).to_have_count(0)
            page.screenshot(path=pictures / "8-agents.png", full_page=True)
        assert not faults.all(), "\n".join(faults.all())
    record_property(SUMMARY, "The first hour: " + ", ".join(watch.lines))


def _set_up(page: Page, mail: MailReceiver, pictures: Path) -> None:
    """From the link of the start to the page that waits for the agent."""
    page.screenshot(path=pictures / "1-set-up.png", full_page=True)
    page.get_by_label("E-mail address").fill("ada@example.com")
    fill_in_the_set_up(page)
    _test_mail_server(page, mail)
    page.screenshot(path=pictures / "2-mail-server.png", full_page=True)
    _answer_what_should_wake_you(page, pictures)
    _add_agent(page)
    page.screenshot(path=pictures / "4-add-agent.png", full_page=True)


def _look_at_a_host(page: Page, name: str, pictures: Path) -> None:
    page.screenshot(path=pictures / "5-agent-added.png", full_page=True)
    page.get_by_role("link", name=name).click()
    page.get_by_role("navigation", name="Metrics").wait_for()
    no_serious_faults(page)
    fits_its_window(page)
    page.screenshot(path=pictures / "6-host.png", full_page=True)


def _test_mail_server(page: Page, mail: MailReceiver) -> None:
    """The second step of the set-up."""
    page.wait_for_url("**/admin/mail-server/")
    page.get_by_label("Send a test message to").fill("ada@example.com")
    page.get_by_role("button", name="Send").click()
    eventually(lambda: [each for each in mail.mails if each.recipients == ("ada@example.com",)])


def _answer_what_should_wake_you(page: Page, pictures: Path) -> None:
    """The third step: the presets of both engines, for the members of the project."""
    page.get_by_role("link", name="What should wake you?").last.click()
    page.get_by_label("PostgreSQL").check()
    expect(page.get_by_role("checkbox", name="Host down", exact=True)).to_be_checked()
    page.get_by_label("Notify").select_option("GROUP")
    page.get_by_role("button", name="Send test").click()
    expect(page.get_by_text("The test message was delivered.")).to_be_visible()
    page.screenshot(path=pictures / "3-what-should-wake-you.png", full_page=True)
    page.get_by_role("button", name="Add presets").click()


def _add_agent(page: Page) -> None:
    """The last step, for the only project and the databases of the presets."""
    expect(page.get_by_label("MongoDB")).to_be_checked()
    expect(page.get_by_label("PostgreSQL")).to_be_checked()
    page.get_by_label("Description").fill("on the machine of the databases")
    page.get_by_role("button", name="Create key").click()
    page.get_by_text("Waiting for the first report").wait_for()


def _install_agent(page: Page, terminal: Terminal, databases: Databases) -> int:
    """Type the commands of the page, and start the agent; it ends with the terminal. Return its process."""

    def command(label: str) -> str:
        return page.get_by_role("group", name=label, exact=True).inner_text()

    # Python of the clone has psycopg, which watching PostgreSQL needs.
    terminal.run('PATH="$PWD/.venv/bin:$PATH"\ncd "$TMPDIR"')
    terminal.run(command("download the agent"))
    settings = command("the settings")
    for name, value in (("MONGODB", databases.mongodb.seed), ("POSTGRESQL", databases.postgresql.uri())):
        settings, count = re.subn(rf"(?m)^(OPSAPI_AGENT_{name})=.*", rf'\1="{value}"', settings)
        assert count == 1, settings
    settings += f'\nOPSAPI_AGENT_INTERVAL="{INTERVAL}"'
    terminal.run(f"{command('write the settings')} <<'END'\n{settings}\nEND")
    assert "FAILED" not in terminal.run(command("check the agent"))
    printed = terminal.run(f"{command('start the agent')} &\necho agent=$!")
    (pid,) = re.findall(r"agent=(\d+)", printed)
    return int(pid)


def _await_mail(mail: MailReceiver, *words: str, deadline: float = 240) -> None:
    def arrived() -> bool:
        return any(
            all(word.lower() in str(each.message["Subject"]).lower() for word in words) for each in mail.mails
        )

    subjects = [str(each.message["Subject"]) for each in mail.mails]
    eventually(arrived, deadline, message=f"a message about {words}; before: {subjects}")


def _demo(cloned: RunningPlatform) -> bool:
    """Add the demonstration; the command asks to be repeated while messages are on their way."""
    done = cloned.manage("demo")
    assert done.returncode == 0 or "try again" in done.stderr, done.stderr
    return done.returncode == 0
