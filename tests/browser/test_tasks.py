"""What people of an on-call team come for, from Home to its end, each with at most so many clicks.

People use the mouse, and type into fields. The numbers of a run are in its summary.
"""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django import Settings

from accesslist.models import Project, User
from accesslist.principal import UserPrincipal
from alerting.configs.changes import alert_config_update
from alerting.models import Alert, AlertConfig, Incident, MaintenanceWindow
from automation.choices import HostType
from automation.measurements.days import days_create
from events.models import Event
from opsapi import clock
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.api.recipients import group, make_user
from tests.browser.chromium import new_context
from tests.browser.hand import Hand, Task
from tests.browser.people import START
from tests.browser.sessions import enter
from tests.browser.site import Site
from tests.browser.viewports import LIGHT
from tests.factories.accesslist import PASSWORD, UserFactory
from tests.factories.alerting import CONNECTIONS_ABOVE_100, EMAIL, make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration
from tests.fake_slack import FakeSlack
from tests.receivers import LOOPBACK, HttpReceiver, MailReceiver, http_receiver, mail_receiver

__all__ = ["http_receiver", "mail_receiver"]

pytestmark = pytest.mark.chromium

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TOKEN = "xoxb-a-token-of-slack"
OWNERS = {"typeName": "GROUP", "roles": ["GROUP_OWNER"], "emailEnabled": True, "delayMin": 0}
RULE = {**CONNECTIONS_ABOVE_100, "name": "Busy", "notifications": [EMAIL]}


@pytest.fixture
def role() -> Role:
    """The role of the person in the project; a test that parametrizes `role` says otherwise."""
    return Role.GROUP_MONITORING_ADMIN


@pytest.fixture
def person(project: Project, role: Role) -> User:
    """Mira in Berlin."""
    user: User = UserFactory.create(
        username="mira", email_address="mira@example.com", time_zone="Europe/Berlin"
    )
    user.grants.create(role=role.value, project=project)
    return user


@pytest.fixture
def hand(page: Page, site: Site, person: User, record_property: Callable[[str, object], None]) -> Hand:
    """Hers, at a browser in which she has logged in."""
    enter(page.context, site.url, person)
    return Hand(page, record_property)


@pytest.fixture
def slack(settings: Settings) -> Iterator[FakeSlack]:
    """The Slack that the settings name."""
    with HttpReceiver().running() as receiver:
        settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
        settings.OPSAPI_CHAT_BASE_URL = receiver.url("")
        yield FakeSlack(receiver, TOKEN)


def _entry(page: Page, name: str) -> Locator:
    """An entry of the navigation."""
    return page.locator("#nav-sidebar").get_by_role("link", name=name, exact=True)


def _in_main(page: Page, name: str, role: Any = "link") -> Locator:
    return page.get_by_role("main").get_by_role(role, name=name, exact=True)


def _part(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def _row(place: Page | Locator, text: str) -> Locator:
    return place.get_by_role("row").filter(has_text=text)


def _alert(project: Project, name: str, **changes: Any) -> Alert:
    return make_alert(project, facts={"hostname": f"{name}.example.com", "port": 27017}, **changes)


def test_task_1_see_what_is_broken_now(hand: Hand, page: Page, project: Project) -> None:
    began = clock.now() - 76 * MINUTE
    ingest(project, host_report("db1.example.com", reachable=False), host_report("db2.example.com"))
    _alert(project, "db1", created=began, opens=began)
    page.goto(START)
    row = _row(_part(page, "Open and pending alerts"), "db1.example.com:27017")
    expect(row).to_contain_text("1 h 16 min")
    expect(_row(_part(page, "Hosts down"), "db1.example.com:27017")).to_be_visible()
    expect(_part(page, "Fleet").get_by_role("link", name="db1.example.com:27017: down")).to_be_visible()
    hand.has_done(Task(1, "see what is broken now", most=0, before="0 / 1"))


def test_task_2_learn_why_somebody_was_not_notified(hand: Hand, page: Page, project: Project) -> None:
    make_user(group(Role.GROUP_READ_ONLY, project), username="lena", email_address="lena@example.com")
    config = make_config(project, notifications=[OWNERS, EMAIL])
    _alert(project, "db1", config_id=config.id)
    page.goto(START)
    row = _row(_part(page, "Open and pending alerts"), "db1.example.com")
    hand.click(row.get_by_role("link", name="Host down"))
    asked = _part(page, "Why was this user not notified?")
    hand.choose(asked.get_by_label("User"), "lena")
    hand.click(asked.get_by_role("button", name="Explain"))
    expect(asked).to_contain_text("lena was not notified")
    expect(_row(asked, "GROUP_OWNER")).to_contain_text("The user does not have the required role.")
    expect(_row(asked, "oncall@example.com")).to_contain_text("The notification goes to another address.")
    hand.has_done(Task(2, "learn why Lena was not notified", most=4, before="4 / 2"))


def test_task_3_acknowledge_an_incident(hand: Hand, page: Page, project: Project) -> None:
    incident, now = new_id(), clock.now()
    alerts = [_alert(project, name, incident_id=incident) for name in ("db1", "db2", "db3")]
    Incident.objects.create(
        id=incident, group=project, config_id=alerts[0].config_id, lead=alerts[0], created=now, grown=now
    )
    page.goto(START)
    hand.click(_entry(page, "Alerts"))
    hand.click(page.get_by_role("button", name="Acknowledge all open alerts of the incident for 1 hour"))
    expect(page.get_by_text("No alert needs you")).to_be_visible()
    assert not Alert.objects.filter(acknowledged_until=None).exists()
    hand.has_done(Task(3, "acknowledge three alerts of an incident", most=2, before="9 / 3"))


def test_task_3b_acknowledge_separate_alerts(hand: Hand, page: Page, project: Project) -> None:
    for name in ("db1", "db2", "db3"):
        _alert(project, name)
    page.goto(START)
    hand.click(_entry(page, "Alerts"))
    hand.click(page.get_by_role("button", name="Acknowledge all 3 for 1 h"))
    expect(page.get_by_text("No alert needs you")).to_be_visible()
    assert not Alert.objects.filter(acknowledged_until=None).exists()
    hand.has_done(Task(3, "acknowledge three separate alerts", most=2, before="9 / 3"))


def test_task_4_mute_three_hosts_every_sunday(hand: Hand, page: Page, project: Project) -> None:
    names = [f"db{number}.example.com" for number in (1, 2, 3)]
    ingest(project, *map(host_report, [*names, "db4.example.com"]), now=clock.now())
    page.goto(START)
    hand.click(_entry(page, "Fleet"))
    for name in names:
        hand.click(_row(page, name).get_by_role("checkbox"))
    hand.choose(page.locator("select[name=action]"), "mute")
    hand.click(page.get_by_role("button", name="Run"))
    hand.click(page.get_by_role("link", name="Sundays 02–04"))
    expect(_part(page, "Muted hosts 3").get_by_role("link")).to_have_text([f"{name}:27017" for name in names])
    hand.click(_in_main(page, "Save", "button").last)
    expect(page.get_by_text("Created: ")).to_contain_text("every week on Sunday, Europe/Berlin")
    window = MaintenanceWindow.objects.get()
    assert window.recurrence == {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}
    # On a Sunday in March there is no 02:00.
    assert (window.start.astimezone(BERLIN).hour, window.end.astimezone(BERLIN).hour) in {(2, 4), (3, 4)}
    hand.has_done(Task(4, "mute three hosts on Sundays from 2 to 4", most=16, before="16 / 3"))


def test_task_5_add_slack_to_a_rule_and_test_it(
    hand: Hand, page: Page, project: Project, slack: FakeSlack
) -> None:
    config = make_config(project, **RULE)
    make_config(project, notifications=[EMAIL], name="Host down")
    page.goto(START)
    hand.click(_entry(page, "Rules"))
    hand.click(page.get_by_role("link", name="Busy"))
    hand.click(page.get_by_role("link", name="Add a notification"))
    row = page.get_by_role("group", name="Notification 2")
    expect(row.get_by_label("Type")).to_be_focused()
    expect(row.get_by_label("Type")).to_be_in_viewport()
    hand.choose(row.get_by_label("Type"), "Slack")
    hand.fill(row.get_by_label("API token").locator("visible=true"), TOKEN)
    hand.fill(row.get_by_label("Channel").locator("visible=true"), "oncall")
    hand.click(_in_main(page, "Save and test", "button"))
    expect(page.get_by_label("Slack oncall")).to_be_checked()
    hand.click(_in_main(page, "Send test notifications", "button"))
    expect(page.get_by_text("1 of 1 delivered")).to_be_visible()
    assert [text.partition(" ")[0] for text in slack.texts] == ["[TEST]"]
    assert [setting.type_name for setting in config.settings.all()] == ["EMAIL", "CHAT_SERVICE"]
    hand.has_done(Task(5, "add Slack to a rule, and test it", most=8, before="19 / 10"))


def test_task_6_revert_the_change_of_a_rule(hand: Hand, page: Page, project: Project) -> None:
    config = make_config(project, **RULE)
    tomas = make_user(group(Role.GROUP_MONITORING_ADMIN, project), username="tomas")
    raised = {"metric_threshold": {**CONNECTIONS_ABOVE_100["metricThreshold"], "threshold": 900.0}}
    actor = UserPrincipal(tomas, "192.0.2.7").actor()
    alert_config_update(config=config, read=lambda _: raised, actor=actor, now=clock.now())
    page.goto(START)
    hand.click(_entry(page, "Changes"))
    row = _row(page, "tomas")
    expect(row).to_contain_text("100 → 900")
    hand.click(row.get_by_role("link", name="Alert configuration changed"))
    hand.click(page.get_by_role("link", name="Revert this change"))
    hand.click(_in_main(page, "Change", "button").last)
    expect(page.get_by_text("Changed: Busy: Connections > 100.")).to_be_visible()
    config.refresh_from_db()
    assert config.metric_threshold
    assert config.metric_threshold["threshold"] == 100.0
    assert Event.objects.latest("created", "id").details["username"] == "mira"
    hand.has_done(Task(6, "see who changed a rule, and revert it", most=4, before="3 / 3, 4 by hand"))


@pytest.mark.parametrize("role", [Role.GROUP_OWNER])
def test_task_7_give_a_colleague_access(
    hand: Hand, project: Project, mail_receiver: MailReceiver, browser: Browser, site: Site
) -> None:
    page = hand.page
    page.goto(START)
    hand.click(_entry(page, "People & access"))
    hand.click(page.get_by_role("link", name="Invite"))
    hand.fill(page.get_by_label("E-mail address"), "grace@example.com")
    hand.click(page.get_by_label("Operator"))
    hand.click(_in_main(page, "Invite", "button"))
    expect(page.get_by_text("Invitation sent to grace@example.com.")).to_be_visible()
    [mail] = mail_receiver.mails
    link = re.search(r"http://\S+#\S+", mail.message.get_content())
    assert link
    elsewhere = new_context(browser, site.url, LIGHT)
    _join(elsewhere.new_page(), link[0])
    elsewhere.close()
    grant = User.objects.get(username="grace").grants.get()
    assert (grant.role, grant.project) == (Role.GROUP_MONITORING_ADMIN, project)
    hand.has_done(Task(7, "give a colleague access", most=5, before="11 / 3, not by a lead"))


def _join(page: Page, link: str) -> None:
    """Accept the invitation of the link, without counting."""
    page.goto(link)
    page.get_by_role("textbox", name="Username").fill("grace")
    for label in ("Password", "Confirm password"):
        page.get_by_role("textbox", name=label).first.fill(PASSWORD)
    page.get_by_label("First name").fill("Grace")
    page.get_by_label("Last name").fill("Hopper")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("You joined the project")).to_be_visible()


def test_task_8_raise_a_noisy_threshold(hand: Hand, page: Page, project: Project) -> None:
    now = clock.now()
    for minutes, number in ((50, 90.0), (40, 150.0), (30, 80.0), (20, 120.0), (10, 70.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=now - minutes * MINUTE)
    make_config(project, name="Quiet")
    config = make_config(project, **RULE)
    for hours in range(24, 28):
        began = now - hours * HOUR
        times = {"created": began, "opens": began, "resolved": began + 20 * MINUTE}
        make_alert(project, config_id=config.id, target_key=config.id, status="CLOSED", **times)
    page.goto(START)
    hand.click(_entry(page, "Rules"))
    hand.click(_in_main(page, "Noise"))
    first = page.locator("#result_list tr.data-row").first
    expect(first).to_contain_text("3 flaps")
    hand.click(first.get_by_role("link", name="Busy"))
    hand.click(_in_main(page, "Change"))
    condition = page.get_by_role("group", name="Metric threshold", exact=True)
    hand.fill(condition.get_by_label("Threshold", exact=True), "140")
    expect(page.locator("[data-live-trial]")).to_contain_text("would have alerted once on 1 host")
    hand.click(_in_main(page, "Change", "button").last)
    expect(page.get_by_text("Changed: Busy: Connections > 140.")).to_be_visible()
    assert AlertConfig.objects.filter(id=config.id, metric_threshold__threshold=140.0).exists()
    hand.has_done(Task(8, "raise a noisy threshold", most=8, before="8 / 7"))


def test_task_9_compare_the_lag_of_yesterday(hand: Hand, page: Page, project: Project) -> None:
    now = clock.now()
    kinds = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY)
    for hours, lag in ((30, 1.0), (26, 90.0), (22, 1.0), (1, 1.0)):
        taken = now - hours * HOUR
        days_create([taken.date()])
        members = [
            host_report(
                f"db{place}.example.com",
                type_name=kind,
                replica_set_name="rs0",
                OPLOG_SLAVE_LAG_MASTER_TIME=place * lag,
            )
            for place, kind in enumerate(kinds)
        ]
        ingest(project, *members, now=taken)
    page.goto(START)
    hand.click(_part(page, "Fleet").get_by_role("link", name="rs0"))
    hand.click(_in_main(page, "3 d"))
    chart = _part(page, "Replication lag")
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_contain_text("db1.example.com:27017: 1 s to 1 min 30 s")
    expect(chart).to_contain_text("db2.example.com:27017: 2 s to 3 min")
    hand.has_done(
        Task(
            9, "compare the lag of a set in an incident of yesterday", most=3, before="4 / 4 for each member"
        )
    )


def test_task_10_learn_whether_notifications_arrive(
    hand: Hand, project: Project, http_receiver: HttpReceiver, slack: FakeSlack
) -> None:
    page = hand.page
    make_integration(project, "WEBHOOK", url=http_receiver.url("/hook"))
    make_integration(project, "CHAT_SERVICE", apiToken=TOKEN, channelName="oncall")
    page.goto(START)
    hand.click(_entry(page, "Channels"))
    hand.click(page.get_by_role("button", name=f"Test all services of {project}"))
    for name in ("Slack", "Webhook"):
        card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name, exact=True))
        expect(card).to_contain_text(re.compile("healthy", re.IGNORECASE))
        expect(card.get_by_role("status")).to_contain_text("The test message was accepted after")
    assert (len(slack.texts), len(http_receiver.requests)) == (1, 1)
    hand.has_done(Task(10, "learn whether notifications arrive", most=2, before="4 / 4 for each rule"))


def test_task_11_hand_over_the_shift(
    hand: Hand, page: Page, project: Project, mail_receiver: MailReceiver
) -> None:
    _alert(project, "db1")
    page.goto(START)
    hand.click(_in_main(page, "Shift report"))
    hand.click(page.get_by_role("button", name="Send to mira@example.com"))
    expect(page.get_by_text("Sent to mira@example.com.")).to_be_visible()
    [mail] = mail_receiver.mails
    assert mail.recipients == ("mira@example.com",)
    assert "## Still open: 1" in mail.message.get_content()
    assert "db1.example.com:27017" in mail.message.get_content()
    hand.has_done(Task(11, "hand over the shift", most=2, before="impossible"))
