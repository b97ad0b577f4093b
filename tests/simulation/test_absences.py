"""The platform stops, or its clock jumps by hours: nobody hears of what is over, everybody of what goes on.

The name of a failed test has its seed. `make faults` runs more seeds.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine import evaluation, muting
from alerting.engine.absence import Absence
from alerting.engine.schedule import notifications_bring_forward
from alerting.engine.stored_times import times_repair
from alerting.models import Alert, AlertConfig
from automation.models import FleetWatch
from automation.reports import changes as ingestion
from automation.reports.rules import second_of
from integrations.choices import MessageKind
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import budget
from tests.integration.alerting.pipeline import Outside, WorkerInTime
from tests.simulation.absences import (
    BEGINNING,
    HOSTS,
    MINUTE,
    MINUTES,
    STEP,
    AbsencePlan,
    SentMessage,
    Trouble,
    draw_absence,
)

pytestmark = pytest.mark.django_db
DELAYS = {"prompt": 0, "patient": 4, "escalation": 9}
"""The delay of each receiver in minutes."""
REMINDERS = {"prompt": 5, "patient": 6}
"""The interval of the reminders of receivers in minutes."""
_AT_ONCE = frozenset({MessageKind.OPEN, MessageKind.UPDATE})
SETTLING = 5 * MINUTE
"""The longest time until the platform has heard all agents after it returns, and has sent its messages."""


def configs(project: Project) -> list[AlertConfig]:
    """A configuration whose alerts open at once, and one whose alerts open after a delay."""
    of_receiver: dict[str, Any] = {
        name: {**WEBHOOK, "webhookUrl": f"http://127.0.0.1:9/{name}", "delayMin": delay}
        | ({"intervalMin": REMINDERS[name]} if name in REMINDERS else {})
        for name, delay in DELAYS.items()
    }
    return [
        make_config(project, notifications=[of_receiver[name] for name in names])
        for names in (["prompt"], ["patient", "escalation"])
    ]


def run(project: Project, plan: AbsencePlan, outside: Outside) -> list[SentMessage]:
    """Let the plan happen, and return the messages of all receivers."""
    worker, reports, sent = WorkerInTime(BEGINNING), list(plan.reports), list[SentMessage]()
    since = BEGINNING - timedelta(days=1)
    FleetWatch.objects.update_or_create(id=1, defaults={"counting_since": since, "swept": BEGINNING})
    for step in range(int(MINUTES * MINUTE / STEP) + 1):
        at = BEGINNING + step * STEP
        while reports and reports[0].at <= at:
            report = reports.pop(0)
            has_time = plan.trouble is not Trouble.CLOCK
            ingest(
                project,
                host_report(report.host, reachable=report.reachable),
                agent=f"agent-{report.host}",
                observed=report.observed if has_time else None,
                waiting=report.waiting,
                now=plan.clock(report.at),
            )
        if plan.runs(at):
            now = plan.clock(at)
            if plan.restarts and not plan.runs(at - STEP):
                worker = WorkerInTime(now)
            outside.sent.clear()
            times_repair(clock=partial(plan.clock, at))
            notifications_bring_forward(now=now)
            worker.work(now, steady=at)
            sent += _messages(outside, at)
    return sent


def _messages(outside: Outside, at: Any) -> Iterator[SentMessage]:
    for _, config, message in outside.sent:
        alert = Alert.objects.get(id=message.document["id"])
        receiver = config["url"].rpartition("/")[2]
        yield SentMessage(at, alert.facts["hostname"], alert.id, message.kind, receiver)


def violations(project: Project, plan: AbsencePlan, outside: Outside) -> list[str]:
    """The messages that should not have been sent, and the alerts and messages that are missing."""
    prompt, patient = configs(project)
    sent = run(project, plan, outside)
    found = [
        f"{message.kind.name} to {message.receiver} at {message.at} about {message.host}, which is up"
        for message in sent
        if message.kind in _AT_ONCE and not plan.is_down(message.host, message.at)
    ]
    found += _differences_at_the_end(plan, [prompt, patient])
    found += _unequal_pairs(sent)
    if plan.trouble is not Trouble.CLOCK:
        found += _missing(plan, sent)
        found += _hasty_reminders(sent)
    return found


def _differences_at_the_end(plan: AbsencePlan, of: list[AlertConfig]) -> Iterator[str]:
    """The alerts that are open at the end, and are not as the reports say."""
    for config in of:
        rows = Alert.objects.filter(config_id=config.id, status__in=["OPEN", "TRACKING"])
        active = {alert.facts["hostname"]: second_of(alert.created) for alert in rows}
        lasting = {host: began for host in HOSTS for began, ended in plan.outages(host) if ended is None}
        if set(active) != set(lasting) or (plan.trouble is not Trouble.CLOCK and active != lasting):
            yield f"open at the end {active} instead of {lasting}"


def _unequal_pairs(sent: list[SentMessage]) -> Iterator[str]:
    """The alerts that a receiver heard of more than once, or whose end it did not hear of."""
    openings, ends = (
        Counter((message.alert_id, message.receiver) for message in sent if message.kind is kind)
        for kind in (MessageKind.OPEN, MessageKind.CLOSE)
    )
    closed = set(Alert.objects.filter(status="CLOSED").values_list("id", flat=True))
    expected = Counter({(alert, receiver): 1 for alert, receiver in openings if alert in closed})
    if set(openings.values()) - {1}:
        yield f"openings {openings}"
    if ends != expected:
        yield f"ends {ends} instead of {expected}"


def _missing(plan: AbsencePlan, sent: list[SentMessage]) -> Iterator[str]:
    """The outages that lasted while the platform ran, and of which a receiver heard nothing."""
    end = BEGINNING + MINUTES * MINUTE
    for host in HOSTS:
        for began, ended in plan.outages(host):
            returns = [stop for begin, stop in plan.stops if began <= stop and begin <= (ended or end)]
            for receiver, delay in DELAYS.items():
                heard_by = max([began + delay * MINUTE, *returns]) + SETTLING
                is_notified = any(
                    message.host == host and message.receiver == receiver and began <= message.at <= heard_by
                    for message in sent
                    if message.kind is MessageKind.OPEN
                )
                if heard_by < (ended or end) and not is_notified:
                    yield f"nobody notified {receiver} of {host}, down from {began} to {ended}"


def _hasty_reminders(sent: list[SentMessage]) -> Iterator[str]:
    """The reminders that follow an earlier message too soon."""
    last: dict[tuple[str, str], SentMessage] = {}
    for message in sent:
        before = last.get((message.alert_id, message.receiver))
        if message.kind is MessageKind.UPDATE and before is not None:
            interval = REMINDERS[message.receiver] * MINUTE
            if message.at - before.at < interval - STEP:
                yield f"a reminder to {message.receiver} at {message.at} after {before.at}"
        last[message.alert_id, message.receiver] = message


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Outside:
    """Replaces all receivers."""
    stand_in = Outside()
    monkeypatch.setattr("alerting.engine.delivery.deliver", stand_in.deliver)
    return stand_in


@pytest.mark.parametrize("seed", range(budget(6)))
def test_people_hear_of_what_goes_on_and_not_of_what_is_over(
    project: Project, seed: int, outside: Outside
) -> None:
    assert violations(project, draw_absence(seed), outside) == []


Patch = tuple[object, str, object]


def _trusts_the_future(observed: datetime, known: datetime | None, _: datetime) -> bool:
    return known is None or observed >= known


BREAKS: Mapping[str, tuple[int, Sequence[Patch]]] = {
    "alerts open unconfirmed": (3, [(evaluation, "confirmed_since", lambda *_, **__: None)]),
    "messages are not confirmed": (0, [(muting, "confirmed_since", lambda *_, **__: None)]),
    "no absence is noticed": (3, [(Absence, "since", lambda _: None)]),
    "old signals open alerts": (34, [(evaluation, "LONGEST_PAUSE", timedelta(days=1))]),
    "times ahead are trusted": (
        8,
        [
            (ingestion, "is_newest", _trusts_the_future),
            (sys.modules[__name__], "times_repair", lambda **_: 0),
        ],
    ),
}
"""Changes of the code, and the seed that finds each."""


@pytest.mark.parametrize("broken", BREAKS)
def test_the_simulation_finds_a_break(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    seed, patches = BREAKS[broken]
    for of, name, value in patches:
        monkeypatch.setattr(of, name, value)
    assert violations(project, draw_absence(seed), outside)
