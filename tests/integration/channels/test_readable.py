"""What people read, on every channel: from a report to a real receiver."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import unquote_plus

import orjson
import pytest
from django.test import Client
from pytest_django import Settings

from accesslist.models import Project
from alerting.models import Alert, AlertConfig
from integrations.channels import CHANNELS
from opsapi import clock
from tests.admin.rows import make_operator
from tests.client import ApiClient
from tests.factories.alerting import make_config, make_global_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import deliver_all, evaluate
from tests.integration.channels.gists import Service, lead_here
from tests.receivers import HttpReceiver, MailReceiver, ReceivedRequest

pytestmark = pytest.mark.django_db

GB = 2**30
THRESHOLD = {
    "metricName": "MEMORY_RESIDENT",
    "operator": "GREATER_THAN",
    "threshold": 1,
    "units": "GIGABYTES",
    "mode": "AVERAGE",
}
URL = "https://ops.example.com"
PEOPLE = [name for name in CHANNELS if name != "WEBHOOK"]
CLOSES_WITH_TEXT = [name for name in PEOPLE if name != "PAGER_SERVICE"]


class Receivers:
    """All that is outside, and what one channel brought there."""

    def __init__(self, name: str, http: HttpReceiver, mail: MailReceiver) -> None:
        self.service, self._http, self._mail = Service(name, http, mail), http, mail
        self.service.take()

    @property
    def texts(self) -> list[str]:
        """What each message says, with its own quoting undone."""
        if self.service.name == "EMAIL":
            return [str(mail.message.get_body(("plain",)).get_content()) for mail in self._mail.offered]  # type: ignore[union-attr]  # every mail has it
        return [_text(request) for request in self._http.requests]


def _text(request: ReceivedRequest) -> str:
    body = request.body.decode()
    if request.headers["Content-Type"] == "application/x-www-form-urlencoded":
        return unquote_plus(body)
    return body.replace("&gt;", ">").replace("&lt;", "<")


@pytest.fixture
def receivers(
    name: str, settings: Settings, http_receiver: HttpReceiver, mail_receiver: MailReceiver
) -> Receivers:
    """The outside of the channel that the test names."""
    lead_here(settings, http_receiver)
    settings.OPSAPI_PUBLIC_URL = URL
    return Receivers(name, http_receiver, mail_receiver)


def raised(project: Project, receivers: Receivers, **changes: Any) -> tuple[AlertConfig, Alert]:
    """An alert of memory that this channel is notified of."""
    config = make_config(
        project,
        eventTypeName="OUTSIDE_METRIC_THRESHOLD",
        metricThreshold=THRESHOLD,
        notifications=[receivers.service.notification()],
        **changes,
    )
    report(project, 2 * GB)
    return config, Alert.objects.get()


def report(project: Project, memory: float) -> None:
    """A host says how much memory it has, and what follows is delivered."""
    ingest(project, host_report("db1.example.com", replica_set_name="rs0", MEMORY_RESIDENT=memory))
    evaluate()
    deliver_all()


@pytest.mark.parametrize("name", PEOPLE)
def test_an_opening_says_what_is_wrong_where_and_since_when(project: Project, receivers: Receivers) -> None:
    _, alert = raised(project, receivers)
    (text,) = receivers.texts
    for fact in (
        "Resident memory",
        "MEMORY_RESIDENT",
        "2 GB > 1 GB",
        "db1.example.com:27017",
        "rs0",
        project.name,
        f"{alert.created:%Y-%m-%d %H:%M:%SZ}",
        f"{URL}/admin/alerting/alert/{alert.id}/change/",
    ):
        assert fact in text
    assert "e+09" not in text
    assert "/api/public/" not in text


@pytest.mark.parametrize("name", [name for name in PEOPLE if name != "SMS"])
def test_it_says_which_configuration_asked_for_it(project: Project, receivers: Receivers) -> None:
    matchers = [{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}]
    config, _ = raised(project, receivers, matchers=matchers)
    (text,) = receivers.texts
    assert "Resident memory above 1 GB, where HOSTNAME starts with “db”" in text
    assert f"{URL}/admin/alerting/alertconfig/{config.id}/change/" in text


@pytest.mark.parametrize("name", CLOSES_WITH_TEXT)
def test_an_end_says_resolved_and_how_long_it_lasted(project: Project, receivers: Receivers) -> None:
    _, alert = raised(project, receivers)
    Alert.objects.update(created=alert.created - timedelta(hours=3, minutes=20))
    report(project, GB / 2)
    text = receivers.texts[-1]
    assert "[CLOSED] Resident memory > 1 GB after 3 h 20 min" in text
    assert "2 GB" not in text


@pytest.mark.parametrize("name", ["CHAT_SERVICE"])
def test_a_reminder_says_for_how_long(project: Project, receivers: Receivers) -> None:
    raised(project, receivers)
    deliver_all(clock.now() + timedelta(minutes=5, seconds=1))
    assert "[STILL OPEN] [WARNING] Resident memory 2 GB > 1 GB for 5 min" in receivers.texts[-1]


@pytest.mark.parametrize("name", ["CHAT_SERVICE"])
def test_what_a_changed_configuration_asks_for_by_now_is_not_said_of_an_earlier_alert(
    project: Project, receivers: Receivers
) -> None:
    config, _ = raised(project, receivers)
    ingest(project, host_report("db1.example.com", replica_set_name="rs0", MEMORY_RESIDENT=GB / 2))
    evaluate()
    changed = {**config.metric_threshold, "threshold": 7}  # type: ignore[dict-item]  # it has one
    AlertConfig.objects.update(metric_threshold=changed, updated=clock.now() + timedelta(seconds=1))
    deliver_all()
    assert "[CLOSED] Resident memory 512 MB after " in receivers.texts[-1]
    assert "7 GB" not in receivers.texts[-1]


@pytest.mark.parametrize("name", ["CHAT_SERVICE"])
def test_messages_of_a_global_configuration_have_its_threshold_and_no_matchers(
    project: Project, receivers: Receivers
) -> None:
    make_global_config(
        eventTypeName="OUTSIDE_METRIC_THRESHOLD",
        metricThreshold=THRESHOLD,
        matchers=[{"fieldName": "HOSTNAME", "operator": "CONTAINS", "value": "example"}],
        notifications=[receivers.service.notification()],
    )
    report(project, 2 * GB)
    (text,) = receivers.texts
    assert "Resident memory above 1 GB (global)" in text
    assert "CONTAINS" not in text


@pytest.mark.parametrize("name", ["WEBHOOK"])
def test_a_webhook_leads_to_the_api_and_to_the_console(
    project: Project, owner: ApiClient, receivers: Receivers
) -> None:
    _, alert = raised(project, receivers)
    document = orjson.loads(receivers.texts[0])
    assert document["links"] == [
        {"rel": "self", "href": f"{URL}/api/public/v1.0/groups/{project.id}/alerts/{alert.id}"},
        {"rel": "urn:opsapi:rel:console", "href": f"{URL}/admin/alerting/alert/{alert.id}/change/"},
    ]
    read = owner.get(f"/groups/{project.id}/alerts/{alert.id}").json()
    assert "urn:opsapi:rel:console" not in [link["rel"] for link in read["links"]]


@pytest.mark.parametrize("name", ["CHAT_SERVICE"])
def test_every_link_of_a_message_is_a_page_of_the_console(project: Project, receivers: Receivers) -> None:
    raised(project, receivers)
    links = set(re.findall(re.escape(URL) + r"(/[^|>\"]+)", receivers.texts[0]))
    assert len(links) == 2
    browser = Client()
    browser.force_login(make_operator())
    assert {browser.get(link).status_code for link in links} == {200}
