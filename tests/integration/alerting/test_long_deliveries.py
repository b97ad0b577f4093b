"""Mails to a slow mail server: their leases are prolonged, and other messages do not wait."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.engine.claim_rules import DOUBTFUL_AT_ONE_HOST
from alerting.engine.courier import Courier
from alerting.engine.leases import LEASE, lapsed_leases_release
from alerting.models import Notification, UnreachableHost
from opsapi.outbound.errors import Stage
from tests.eventually import eventually
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import deliver_all, evaluate
from tests.receivers import LOOPBACK, HttpReceiver
from tests.scripted_mail import NoReply, ScriptedMailServer

pytestmark = pytest.mark.django_db

START = datetime.fromisoformat("2030-01-01T12:00:00+00:00")
SECOND = timedelta(seconds=1)
SOON = 30.0


def email(address: str) -> dict[str, Any]:
    """A notification by e-mail."""
    return {**EMAIL, "emailAddress": address}


def opening() -> Notification:
    """The message about the opening."""
    return Notification.objects.get(kind="alert.open")


class Shift:
    """A courier with a clock of its own."""

    def __init__(self) -> None:
        self.now = START
        self.courier = Courier(worker=1, slots=8, clock=lambda: self.now, wake=lambda: None)

    def pass_time(self, seconds: float) -> None:
        """Run the courier for this time, step by step."""
        end = self.now + timedelta(seconds=seconds)
        while self.now < end:
            self.now += 5 * SECOND
            self.courier.step()


@pytest.fixture
def waiting(settings: Settings) -> Iterator[ScriptedMailServer]:
    """A mail server that does not reply to a mail until the test releases the server."""
    with ScriptedMailServer({Stage.END: NoReply.WAIT}).running() as server:
        server.named_by(settings)
        yield server


def down(project: Project) -> None:
    """A host goes down at the start."""
    ingest(project, host_report(reachable=False))
    evaluate(START)


def test_the_lease_of_a_mail_is_prolonged_until_the_server_replies(
    project: Project, waiting: ScriptedMailServer
) -> None:
    make_config(project, notifications=[email("oncall@example.com")])
    down(project)
    shift = Shift()
    shift.courier.step()
    eventually(lambda: bool(waiting.mails), SOON)
    shift.pass_time(590)
    row = opening()
    assert (row.status, row.attempts, row.leased) == ("PENDING", 1, START)
    assert row.lease_until is not None
    assert shift.now < row.lease_until <= shift.now + LEASE
    waiting.released.set()
    eventually(lambda: shift.courier.step() >= 0 and opening().status == "DELIVERED", SOON)
    row = opening()
    assert (row.attempts, row.lease_token, row.leased, len(waiting.mails)) == (1, None, None, 1)


def test_the_lease_of_a_killed_worker_ends(project: Project, waiting: ScriptedMailServer) -> None:
    make_config(project, notifications=[email("oncall@example.com")])
    down(project)
    shift = Shift()
    shift.courier.step()
    eventually(lambda: bool(waiting.mails), SOON)
    shift.pass_time(60)
    assert lapsed_leases_release(now=shift.now + LEASE - SECOND) == 0
    assert lapsed_leases_release(now=shift.now + LEASE + SECOND) == 1
    # The worker was suspended, not killed. Its later results are ignored.
    waiting.released.set()
    eventually(lambda: shift.courier.finish() or not shift.courier._sending, SOON)
    row = opening()
    assert (row.status, row.perhaps_received, row.lease_token) == ("PENDING", True, None)


def test_a_message_whose_outcome_waits_for_locked_alerts_is_not_sent_again(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    with HttpReceiver().running() as receiver:
        make_config(project, notifications=[{**WEBHOOK, "webhookUrl": receiver.url()}])
        down(project)
        shift = Shift()
        with monkeypatch.context() as locked:
            # As if another transaction had locked the alerts.
            locked.setattr("alerting.engine.courier.record", lambda ended, **_: ended)
            eventually(lambda: shift.courier.step() >= 0 and bool(shift.courier._unrecorded), SOON)
            shift.pass_time(120)
        shift.courier.step()
    row = opening()
    assert (row.status, row.attempts, row.lease_token) == ("DELIVERED", 1, None)
    assert (len(receiver.requests), shift.courier._unrecorded_leases) == (1, {})


def test_no_channel_and_no_other_mail_waits_for_a_slow_mail_server(
    project: Project, waiting: ScriptedMailServer, settings: Settings
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    with HttpReceiver().running() as receiver:
        webhook = {**WEBHOOK, "webhookUrl": receiver.url()}
        make_config(project, notifications=[*(email(f"{n}@example.com") for n in range(8)), webhook])
        down(project)
        shift = Shift()
        shift.courier.step()
        eventually(lambda: len(waiting.mails) == DOUBTFUL_AT_ONE_HOST, SOON)
        shift.pass_time(5)
        eventually(lambda: len(receiver.requests) == 1, SOON)
        # As soon as their leases are prolonged, more mails are sent, although the server does not reply.
        shift.pass_time(20)
        eventually(lambda: len(waiting.mails) == 2 * DOUBTFUL_AT_ONE_HOST, SOON)
    assert {row.attempts for row in Notification.objects.filter(channel="EMAIL")} == {1}


def test_a_refused_log_in_is_the_fault_of_the_server_and_retried(
    project: Project, settings: Settings
) -> None:
    with ScriptedMailServer({Stage.AUTH: b"535 5.7.8 wrong\r\n"}).running() as server:
        server.named_by(settings)
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "ops", "hunter22"
        make_config(project, notifications=[email("a@example.com"), email("b@example.com")])
        down(project)
        deliver_all(START)
        rows = Notification.objects.order_by("recipient")
        assert {row.status for row in rows} == {"PENDING"}
        assert "the mail server answered 535 5.7.8 wrong" in [row.reason for row in rows]
        assert UnreachableHost.objects.get().host == f"smtp://127.0.0.1:{server.port}"
        server.script[Stage.AUTH] = b"235 welcome\r\n"
        for minute in range(1, 5):
            deliver_all(START + timedelta(minutes=minute))
        assert {row.status for row in Notification.objects.filter(kind="alert.open")} == {"DELIVERED"}
        assert not UnreachableHost.objects.exists()
