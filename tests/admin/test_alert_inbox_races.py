"""Acknowledging several alerts at once, and the undo, while alerts end or others acknowledge them."""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from accesslist.models import Project
from alerting.incidents.changes import AlertChanges, AlertEnd, alert_acknowledge, alerts_change
from alerting.models import Alert, Incident
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import Actor, ActorKind
from opsapi.ids import new_id
from tests.admin.alert_pages import ALERTS
from tests.admin.reading import text_of
from tests.eventually import eventually
from tests.factories.alerting import make_alert
from tests.racing import on_own_connection, somebody_waits, while_it_waits

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = f"{ALERTS}acknowledge/1h/"
HOUR = timedelta(hours=1)


@pytest.fixture
def alerts(project: Project) -> list[Alert]:
    """Three open alerts, in the order of their ids."""
    rows = [make_alert(project, facts={"hostname": f"db{number}", "port": 1}) for number in range(3)]
    return sorted(rows, key=lambda alert: alert.id)


def close(alert: Alert) -> None:
    """The condition ends."""
    now = clock.now()
    end = AlertEnd(signal=Signal(pk=1, created=now), at=now)
    alerts_change(changes=AlertChanges(ends={alert.id: end}), group_id=alert.group_id, now=now)


def acknowledge(alert: Alert, username: str = "mira") -> None:
    """Somebody acknowledges it for five hours."""
    alert_acknowledge(
        alert_id=alert.id,
        group_id=alert.group_id,
        until=clock.now() + 5 * HOUR,
        comment=None,
        actor=Actor(kind=ActorKind.SYSTEM, name=username),
        now=clock.now(),
    )


def acknowledgers() -> list[str | None]:
    """Who acknowledged each alert, in the order of their ids."""
    return list(Alert.objects.order_by("id").values_list("acknowledging_username", flat=True))


def listed(alerts: list[Alert]) -> dict[str, str]:
    return {"listed": ",".join(alert.id for alert in alerts), "back": ""}


def undo_of(page: str) -> str:
    """Where the button for the undo leads."""
    found = re.search(r'formaction="([^"]*/unacknowledge/[^"]*)"', page)
    assert found
    return found[1]


def send(console: Client, url: str, values: Mapping[str, Any]) -> str:
    return text_of(console.post(url, values, follow=True))


@pytest.mark.parametrize(("change", "kept"), [(close, None), (acknowledge, "mira")])
def test_a_listed_alert_that_changes_meanwhile_is_left_out(
    change: Callable[[Alert], None], kept: str | None, console: Client, alerts: list[Alert]
) -> None:
    page = while_it_waits(lambda: send(console, AT_ONCE, listed(alerts)), lambda: change(alerts[1]))
    assert acknowledgers() == ["ada", kept, "ada"]
    assert "1 alert has changed since you loaded the list" in page
    assert "Acknowledged: 2 alerts." in page
    # The undo of the click leaves it out as well.
    send(console, undo_of(page), listed(alerts))
    assert acknowledgers() == [None, kept, None]


def test_if_all_listed_alerts_change_meanwhile_only_that_is_said(
    console: Client, alerts: list[Alert]
) -> None:
    def close_all() -> None:
        for alert in alerts:
            close(alert)

    page = while_it_waits(lambda: send(console, AT_ONCE, listed(alerts)), close_all)
    assert "All of these alerts have changed" in page
    assert "did not change now" not in page
    assert not Event.objects.filter(event_type="ALERT_ACKNOWLEDGED_AUDIT").exists()


def test_the_undo_keeps_an_acknowledgement_by_somebody_else_meanwhile(
    console: Client, alerts: list[Alert]
) -> None:
    undo = undo_of(send(console, AT_ONCE, listed(alerts)))
    page = while_it_waits(lambda: send(console, undo, listed(alerts)), lambda: acknowledge(alerts[1]))
    assert acknowledgers() == [None, "mira", None]
    assert "1 alert has changed since you loaded the list" in page


def test_a_selected_alert_that_ends_meanwhile_is_left_out(console: Client, alerts: list[Alert]) -> None:
    values = {
        "action": "acknowledge",
        "_selected_action": [alert.id for alert in alerts],
        "confirmed": "1",
        "until": "1h",
    }
    page = while_it_waits(lambda: send(console, ALERTS, values), lambda: close(alerts[1]))
    assert acknowledgers() == ["ada", None, "ada"]
    assert "1 selected alert has ended, and did not change." in page
    assert "Acknowledged: 2 alerts." in page


def test_an_alert_of_an_incident_that_ends_meanwhile_is_left_out(
    console: Client, alerts: list[Alert], project: Project
) -> None:
    name, now = new_id(), clock.now()
    Alert.objects.update(incident_id=name)
    Incident.objects.create(
        id=name, group=project, config_id=alerts[0].config_id, lead=alerts[0], created=now, grown=now
    )
    values = {"incident": [name], "back": ""}
    page = while_it_waits(lambda: send(console, AT_ONCE, values), lambda: close(alerts[1]))
    assert acknowledgers() == ["ada", None, "ada"]
    assert "1 selected alert has ended, and did not change." in page


def test_there_is_no_undo_for_an_acknowledgement_that_replaced_another_meanwhile(
    console: Client, alerts: list[Alert]
) -> None:
    values = {"_selected_action": [alerts[0].id], "back": ""}
    page = while_it_waits(lambda: send(console, AT_ONCE, values), lambda: acknowledge(alerts[0]))
    assert acknowledgers() == ["ada", None, None]
    assert "Undo" not in page


def test_alerts_are_locked_in_the_order_of_their_ids_with_their_incidents(
    console: Client, alerts: list[Alert], project: Project
) -> None:
    """The first alert, which is not listed, is in the incident of the last."""
    name, now = new_id(), clock.now()
    Alert.objects.filter(id__in=[alerts[0].id, alerts[2].id]).update(incident_id=name)
    Incident.objects.create(
        id=name, group=project, config_id=alerts[0].config_id, lead=alerts[0], created=now, grown=now
    )

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Alert.objects.select_for_update().get(id=alerts[0].id)
            page = pool.submit(on_own_connection, lambda: send(console, AT_ONCE, listed(alerts[1:])))
            eventually(somebody_waits)
            # An error says that the request has locked the second alert before the first.
            Alert.objects.select_for_update(nowait=True).get(id=alerts[1].id)
        assert "Acknowledged: 2 alerts." in page.result()
    assert acknowledgers() == [None, "ada", "ada"]
