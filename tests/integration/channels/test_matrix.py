"""Every channel, every kind of message and every outcome: the receiver's requests and the notification log.

From a report to the log, through evaluation, delivery and a real receiver.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete
from alerting.models import Alert, AlertConfig, Notification
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from integrations.channels import CHANNELS
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.client import ApiClient
from tests.each import each
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import deliver_all, evaluate
from tests.integration.channels.gists import (
    ACKNOWLEDGED,
    CANCELLED,
    CLOSED,
    GISTS,
    KINDS,
    ONE_SHOT,
    OPENED,
    REPEATED,
    SECRET,
    Service,
    lead_here,
)
from tests.receivers import HttpReceiver, MailReceiver

pytestmark = pytest.mark.django_db

ROLLBACK = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
GAP = timedelta(minutes=5, seconds=1)
SENT = [(name, kind) for name, gists in GISTS.items() for kind in KINDS if gists[kind]]
NOT_SENT = [(name, kind) for name, gists in GISTS.items() for kind in KINDS if not gists[kind]]
WITH_DELIVERY_ID = {"EMAIL", "WEBHOOK"}


class Case:
    """A project whose host goes down, notified over one channel."""

    def __init__(self, project: Project, owner: ApiClient, service: Service) -> None:
        self.project, self.owner, self.service = project, owner, service

    def visible_scope(self, kind: str) -> datetime:
        """Deliver all earlier messages, go to the time when this message is due, and set the answer."""
        self.service.take()
        config = self._configure("HOST_ROLLBACK" if kind == ONE_SHOT else "HOST_DOWN")
        if kind == ONE_SHOT:
            ingest(self.project, host_report(), events=(ROLLBACK,))
        else:
            ingest(self.project, host_report(reachable=False))
        evaluate()
        if kind not in (OPENED, ONE_SHOT):
            deliver_all()
            _LATER[kind](self, config)
        self.service.forget()
        return clock.now() + (GAP if kind == REPEATED else timedelta())

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What the log says of that."""
        about = f"alerts/{Alert.objects.get().id}" if Alert.objects.exists() else f"events/{_event().id}"
        answer = self.owner.get(f"/groups/{self.project.id}/{about}/notifications")
        assert answer.status_code == 200, answer.content
        assert SECRET not in answer.content.decode()
        return [entry for entry in answer.json()["results"] if entry["kind"] == kind]

    def acknowledge(self, _: AlertConfig) -> None:
        """Somebody looks after it."""
        path = f"/groups/{self.project.id}/alerts/{Alert.objects.get().id}"
        until = (clock.now() + timedelta(hours=1)).isoformat()
        assert self.owner.patch(path, {"acknowledgedUntil": until}).status_code == 200

    def close(self, _: AlertConfig) -> None:
        """The host is up again."""
        ingest(self.project, host_report())
        evaluate()

    def cancel(self, config: AlertConfig) -> None:
        """Nobody wants to know any more."""
        alert_config_delete(config=config, actor=SYSTEM, now=clock.now())

    def _configure(self, event_type: str) -> AlertConfig:
        notifications = [self.service.notification()]
        return make_config(self.project, eventTypeName=event_type, notifications=notifications)


def _event() -> Event:
    return Event.objects.get(event_type="HOST_ROLLBACK")


_LATER: Mapping[str, Callable[[Case, AlertConfig], None]] = {
    REPEATED: lambda _case, _config: None,
    ACKNOWLEDGED: Case.acknowledge,
    CLOSED: Case.close,
    CANCELLED: Case.cancel,
}


@pytest.fixture
def service(
    request: pytest.FixtureRequest,
    settings: Settings,
    http_receiver: HttpReceiver,
    mail_receiver: MailReceiver,
) -> Service:
    """The outside of the channel that the test names."""
    lead_here(settings, http_receiver)
    return Service(request.node.callspec.params["name"], http_receiver, mail_receiver)


@pytest.fixture
def case(project: Project, owner: ApiClient, service: Service) -> Case:
    """The case of that channel."""
    return Case(project, owner, service)


def outcomes(entry: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """How its attempts ended, and why."""
    return [(attempt["status"], attempt.get("reason")) for attempt in entry["attempts"]]


@pytest.fixture
def due(case: Case, kind: str) -> datetime:
    """When the message that the test names is due; all earlier messages are delivered."""
    return case.visible_scope(kind)


def _is_delivered(case: Case, kind: str, due: datetime) -> None:
    """It is seen once and logged."""
    name = case.service.name
    deliver_all(due)
    assert case.service.received == [GISTS[name][kind]]
    (entry,) = [logged for logged in case.log(kind) if logged["status"] != "PENDING"]
    assert (entry["status"], entry["typeName"], entry["channel"]) == ("DELIVERED", name, name)
    assert outcomes(entry) == [("DELIVERED", None)]
    assert "reason" not in entry


def _is_refused_for_now(case: Case, kind: str, due: datetime) -> None:
    """It comes again under the same id."""
    name = case.service.name
    reason = case.service.refuse_for_now()
    deliver_all(due)
    assert case.service.received == [GISTS[name][kind]]
    (entry,) = case.log(kind)
    assert (entry["status"], entry["reason"]) == ("PENDING", reason)
    assert outcomes(entry) == [("RETRY", reason)]
    assert "delivered" not in entry

    case.service.take()
    again = Notification.objects.get(id=entry["id"]).due
    assert timedelta(seconds=4) <= again - due <= timedelta(seconds=6)
    deliver_all(again)
    assert case.service.received == [GISTS[name][kind]] * 2
    if name in WITH_DELIVERY_ID:
        first, second = case.service.delivery_ids
        assert first == second
        assert entry["id"] in first
    (received,) = [logged for logged in case.log(kind) if logged["id"] == entry["id"]]
    assert received["status"] == "DELIVERED"
    assert outcomes(received) == [("RETRY", reason), ("DELIVERED", None)]


def _is_refused_for_good(case: Case, kind: str, due: datetime) -> None:
    """It is logged and does not come again."""
    reason = case.service.refuse_for_good()
    deliver_all(due)
    (entry,) = [logged for logged in case.log(kind) if logged["status"] != "PENDING"]
    assert (entry["status"], entry["reason"]) == ("FAILED", reason)
    assert outcomes(entry) == [("FAILED", reason)]

    case.service.take()
    deliver_all(due + timedelta(minutes=4))
    assert case.service.received == [GISTS[case.service.name][kind]]


@pytest.mark.parametrize(("name", "kind"), SENT)
@each("outcome", [_is_delivered, _is_refused_for_now, _is_refused_for_good])
def test_what_becomes_of_a_message_is_seen_by_the_receiver_and_logged(
    case: Case, due: datetime, name: str, kind: str, outcome: Callable[[Case, str, datetime], None]
) -> None:
    """Each outcome begins with the same database, so the way to the message is gone once for all of them."""
    case.service.take()
    case.service.forget()
    outcome(case, kind, due)


@pytest.mark.parametrize(("name", "kind"), NOT_SENT)
def test_a_kind_that_a_channel_does_not_send_is_neither_sent_nor_logged(
    case: Case, name: str, kind: str
) -> None:
    deliver_all(case.visible_scope(kind))
    assert case.service.received == []
    assert case.log(kind) == []


def test_the_matrix_has_every_channel() -> None:
    assert set(GISTS) == set(CHANNELS)
