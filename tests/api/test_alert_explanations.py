"""Why an alert opened, and why each of its messages was, or was not, sent, over HTTP."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project, User
from alerting.models import Alert, AlertConfig, Notification, NotificationSetting
from alerting.reasons import NotificationReason
from events.models import Event
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.explainer import Explainer
from tests.api.recipients import client, group, make_user, org, refusal
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory, make_team
from tests.factories.alerting import EMAIL, make_alert, make_global_config, make_notification
from tests.integration.alerting.conftest import outside
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

__all__ = ["outside"]

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
GROUPED: dict[str, Any] = {"grouping": "TOPOLOGY", "groupWaitSec": 0}
OF_GROUP = {"typeName": "GROUP", "emailEnabled": True}


class AlertExplainer(Explainer):
    """The project, and questions about its newest alert."""

    def down(self, *notifications: dict[str, Any], **changes: Any) -> Alert:
        """The alert of a host that is down, with these notifications."""
        chosen = list(notifications) or [bodies.email()]
        self.config(notifications=chosen, **changes)
        self.report(reachable=False)
        return self.alert

    @property
    def alert(self) -> Alert:
        return Alert.objects.latest("created")

    def asked(self, *, caller: ApiClient | None = None, user_id: str = "") -> Any:
        """The answer about the alert."""
        query = f"?userId={user_id}" if user_id else ""
        return (caller or self.owner).get(f"{self.base}/alerts/{self.alert.id}/explanation{query}")

    def explanation(self, user: User | None = None) -> dict[str, Any]:
        """The document about the alert."""
        answer = self.asked(user_id=user.id if user else "")
        assert answer.status_code == 200, answer.json()
        document: dict[str, Any] = answer.json()
        return document

    def reasons(self) -> list[str]:
        """Why each message was, or was not, sent, newest first."""
        return [message["reason"] for message in self.explanation()["notifications"]]

    def of_user(self, user: User) -> list[tuple[bool, str]]:
        """For each notification whether it reaches the user, and the reason."""
        notifications = self.explanation(user)["user"]["notifications"]
        return [(each["reaches"], each["reason"]) for each in notifications]

    def mute(self, **changes: Any) -> str:
        """Mute the alert for an hour; answers the window's id."""
        now = clock.now()
        body = bodies.window(startDate=wire_time(now - HOUR), endDate=wire_time(now + HOUR), **changes)
        return str(self.owner.post(f"{self.base}/maintenanceWindows", body).json()["id"])

    def acknowledge(self, until: datetime) -> None:
        """Acknowledge the alert."""
        body = {"acknowledgedUntil": wire_time(until)}
        assert self.owner.patch(f"{self.base}/alerts/{self.alert.id}", body).status_code == 200


@pytest.fixture
def fleet(owner: ApiClient, project: Project) -> AlertExplainer:
    """The project of the tests, without hosts."""
    return AlertExplainer(owner, project)


def member(project: Project, *roles: Role, **changes: Any) -> User:
    """A user with roles in the project, and an e-mail address."""
    address = {"email_address": f"{new_id()}@example.com"}
    return make_user(*(group(role, project) for role in roles), **(address | changes))


# --- the signal and the condition -----------------------------------------------------------------


def test_an_alert_about_a_metric_shows_the_value_that_crossed_the_threshold(fleet: AlertExplainer) -> None:
    config = fleet.config(bodies.metric_config(units="RAW"))
    fleet.report(("CONNECTIONS", 101))
    fleet.report(("CONNECTIONS", 150))
    document = fleet.explanation()
    assert (document["alertId"], document["alertConfigId"]) == (fleet.alert.id, config)
    assert document["signal"]["currentValue"] == {"number": 101, "units": "RAW"}
    assert document["signal"]["measured"] == wire_time(fleet.alert.created)
    assert document["condition"]["state"] == "SAME"
    assert document["condition"]["threshold"] == {
        "metricName": "CONNECTIONS",
        "operator": "GREATER_THAN",
        "threshold": 100,
        "units": "RAW",
        "actualValue": 101,
    }


def test_a_value_that_is_no_longer_stored_is_not_invented(fleet: AlertExplainer) -> None:
    config = fleet.config(bodies.metric_config())
    fleet.report()
    facts = {"hostId": fleet.host_id, "hostname": "db1.example.com", "port": 27017}
    kind = {"event_type": "OUTSIDE_METRIC_THRESHOLD", "metric_name": "CONNECTIONS", "current_value": 150}
    long_ago = {"created": clock.now() - 800 * HOUR, "opens": clock.now() - 800 * HOUR}
    Alert.objects.all().delete()
    make_alert(fleet.project, config_id=config, facts=facts, **kind, **long_ago)
    document = fleet.explanation()
    assert {"currentValue", "measured"}.isdisjoint(document["signal"])
    assert "actualValue" not in document["condition"]["threshold"]


def test_the_condition_of_a_deleted_configuration_is_not_shown(fleet: AlertExplainer) -> None:
    config = fleet.config(bodies.metric_config())
    fleet.report(("CONNECTIONS", 150))
    assert fleet.owner.delete(f"{fleet.base}/alertConfigs/{config}").status_code == 204
    condition = fleet.explanation()["condition"]
    assert (condition["state"], "threshold" in condition) == ("DELETED", False)


def test_matchers_are_compared_with_the_recorded_facts(fleet: AlertExplainer) -> None:
    name = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "DB"}
    kind = {"fieldName": "TYPE_NAME", "operator": "EQUALS", "value": "STANDALONE"}
    fleet.down(matchers=[name, kind])
    matchers = fleet.explanation()["condition"]["matchers"]
    # An alert does not keep the type of its host.
    assert matchers == [{**name, "actualValue": "db1.example.com", "matched": True}, kind]


def test_an_event_that_opened_the_alert_is_named(fleet: AlertExplainer) -> None:
    fleet.report()
    fleet.config(eventTypeName="HOST_SSL_CERTIFICATE_STALE")
    event = {"eventTypeName": "HOST_SSL_CERTIFICATE_STALE", "hostname": "db1.example.com", "port": 27017}
    fleet.owner.report(fleet.project.id, bodies.report(bodies.host(), events=[event]))
    evaluate()
    named = Event.objects.get(id=fleet.explanation()["signal"]["eventId"])
    assert named.event_type == "HOST_SSL_CERTIFICATE_STALE"


def test_a_condition_that_was_changed_since_is_said_to_be_the_current_one(fleet: AlertExplainer) -> None:
    alert = fleet.down()
    path = f"{fleet.base}/alertConfigs/{alert.config_id}"
    matcher = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db9"}
    assert fleet.owner.patch(path, {"matchers": [matcher]}).status_code == 200
    assert fleet.explanation()["condition"]["state"] == "PERHAPS_CHANGED"


def test_a_condition_that_is_gone_is_not_recorded(fleet: AlertExplainer) -> None:
    make_alert(fleet.project)
    document = fleet.explanation()
    assert document["condition"]["state"] == "DELETED"
    assert document["condition"]["matchers"] == []


# --- the messages ---------------------------------------------------------------------------------


def test_a_message_that_arrived(fleet: AlertExplainer, outside: Outside) -> None:
    fleet.down()
    deliver_all()
    message, reminder = sorted(fleet.explanation()["notifications"], key=lambda each: each["kind"])
    row = Notification.objects.get(status="DELIVERED")
    assert (message["id"], message["reason"]) == (row.id, "DELIVERED")
    assert (message["recipient"], message["attempts"]) == ("oncall@example.com", 1)
    assert reminder["reason"] == "REMINDER_LATER"
    assert reminder["earliest"] > wire_time(clock.now())


def test_a_message_that_waits_for_a_worker(fleet: AlertExplainer) -> None:
    fleet.down()
    assert fleet.reasons() == ["DUE"]


def test_a_message_that_waits_for_its_delay(fleet: AlertExplainer) -> None:
    alert = fleet.down(bodies.email(delayMin=0), bodies.email(emailAddress="b@example.com", delayMin=30))
    delayed = next(each for each in fleet.explanation()["notifications"] if each["reason"] == "DELAYED")
    assert delayed["earliest"] == wire_time(alert.created + HOUR / 2)


def test_a_message_that_a_receiver_refuses_and_gets_again(fleet: AlertExplainer, outside: Outside) -> None:
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver answered 500", 9)
    fleet.down()
    deliver_all()
    (message,) = fleet.explanation()["notifications"]
    assert message["reason"] == "RETRYING"
    assert "the receiver answered 500" in message["detail"]


def test_a_message_that_a_receiver_refuses_for_good(fleet: AlertExplainer, outside: Outside) -> None:
    outside.outcome = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 9)
    fleet.down()
    deliver_all()
    failed = next(each for each in fleet.explanation()["notifications"] if each["status"] == "FAILED")
    assert failed["reason"] == "FAILED"
    assert "the receiver answered 404" in failed["detail"]


def test_a_message_that_a_window_mutes_before_and_after_delivery_saw_it(
    fleet: AlertExplainer, outside: Outside
) -> None:
    fleet.down()
    window = fleet.mute()
    expected = ("MUTED", window)
    (before,) = fleet.explanation()["notifications"]
    deliver_all()
    (after,) = fleet.explanation()["notifications"]
    assert (before["reason"], before["maintenanceWindowId"]) == expected
    assert (after["reason"], after["maintenanceWindowId"]) == expected
    assert before["earliest"] == after["earliest"]


def test_the_first_message_of_a_group_is_muted_by_the_window_of_its_only_alert(
    fleet: AlertExplainer, outside: Outside
) -> None:
    fleet.down(**GROUPED)
    window = fleet.mute()
    (before,) = fleet.explanation()["notifications"]
    deliver_all()
    (after,) = fleet.explanation()["notifications"]
    assert [message["maintenanceWindowId"] for message in (before, after)] == [window, window]


def test_a_window_for_one_alert_of_a_group_does_not_mute_its_message(
    fleet: AlertExplainer, outside: Outside
) -> None:
    fleet.config(notifications=[bodies.email()], **GROUPED)
    for name in ("db1.example.com", "db2.example.com"):
        fleet.report(hostname=name, replicaSetName="rs0", typeName="REPLICA_SECONDARY", reachable=False)
    fleet.mute(
        alertTypeNames=["HOST"],
        matchers=[{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db2.example.com"}],
    )
    reasons = fleet.reasons()
    deliver_all()
    assert "MUTED" not in reasons
    assert "DELIVERED" in [message["status"] for message in fleet.explanation()["notifications"]]


def test_a_reminder_that_an_acknowledgement_holds_back(fleet: AlertExplainer, outside: Outside) -> None:
    fleet.down()
    deliver_all()
    until = clock.now() + 5 * HOUR
    fleet.acknowledge(until)
    reminder = next(each for each in fleet.explanation()["notifications"] if each["kind"] == "alert.update")
    assert (reminder["reason"], reminder["earliest"]) == ("ACKNOWLEDGED", wire_time(until))


def test_a_message_that_its_alert_outran(fleet: AlertExplainer) -> None:
    fleet.down()
    fleet.report(reachable=True)
    assert fleet.reasons() == ["ALERT_OVER"]


def test_a_message_without_recipients(fleet: AlertExplainer, outside: Outside) -> None:
    fleet.down(OF_GROUP)
    deliver_all()
    assert fleet.reasons()[-1] == "NO_USER_WITH_ROLE"


def test_a_message_that_its_configuration_no_longer_has(fleet: AlertExplainer) -> None:
    alert = fleet.down(bodies.email(), bodies.email(emailAddress="b@example.com"))
    NotificationSetting.objects.filter(config_id=alert.config_id, position=0).update(removed=True)
    assert sorted(fleet.reasons()) == ["DUE", "NOTIFICATION_REMOVED"]


def test_notifications_without_a_message_say_why(fleet: AlertExplainer) -> None:
    alert = fleet.down(bodies.email(delayMin=30))
    (message,) = fleet.explanation()["withoutMessage"]
    assert message["reason"] == "NOT_OPEN"
    fleet.report(reachable=True)
    assert fleet.explanation()["withoutMessage"][0]["reason"] == "ENDED_BEFORE_OPENING"
    assert message["notificationId"] == NotificationSetting.objects.get(config_id=alert.config_id).id


def test_a_notification_that_was_added_later_has_no_message(fleet: AlertExplainer) -> None:
    alert = fleet.down()
    config = AlertConfig.objects.get(id=alert.config_id)
    added = NotificationSetting.objects.create(config=config, position=1, type_name="EMAIL", fields={})
    (message,) = fleet.explanation()["withoutMessage"]
    assert (message["notificationId"], message["reason"]) == (added.id, "ADDED_LATER")


def test_a_long_log_is_cut_and_says_so(fleet: AlertExplainer) -> None:
    alert = fleet.down()
    for _ in range(110):
        make_notification(fleet.project, alert=alert, status="FAILED", reason="away")
    document = fleet.explanation()
    assert len(document["notifications"]) + document["moreNotifications"] == 111
    assert document["moreNotifications"] > 0


def test_it_writes_nothing(fleet: AlertExplainer) -> None:
    fleet.down()
    models = (Alert, Event, Notification)
    before = [list(model.objects.order_by("id").values()) for model in models]
    fleet.explanation()
    assert [list(model.objects.order_by("id").values()) for model in models] == before


# --- why was this user not notified? ---------------------------------------------------------------


def test_a_user_who_was_notified(fleet: AlertExplainer, outside: Outside) -> None:
    ada = member(fleet.project, Role.GROUP_OWNER)
    fleet.down(OF_GROUP)
    deliver_all()
    assert fleet.explanation(ada)["user"]["notified"] is True
    assert fleet.of_user(ada) == [(True, "DELIVERED")]


def test_each_part_that_keeps_a_user_out(fleet: AlertExplainer) -> None:
    project = fleet.project
    ada = member(project, Role.GROUP_READ_ONLY, mobile_number=None)
    grace, team = member(project, Role.GROUP_READ_ONLY), make_team(project)
    fleet.down(
        {"typeName": "USER", "username": grace.username, "emailEnabled": True},
        {"typeName": "TEAM", "teamId": team.id, "emailEnabled": True},
        {"typeName": "GROUP", "roles": ["GROUP_OWNER"], "emailEnabled": True},
        {"typeName": "USER", "username": ada.username, "smsEnabled": True, "emailEnabled": False},
        bodies.email(),
        bodies.webhook(webhookSecret=None),
        bodies.email(emailAddress=str(ada.email_address).upper()),
    )
    document = fleet.explanation(ada)["user"]
    assert fleet.of_user(ada) == [
        (False, "OTHER_USER"),
        (False, "NOT_IN_TEAM"),
        (False, "ROLE_MISSING"),
        (False, "CHANNEL_DISABLED"),
        (False, "OTHER_ADDRESS"),
        (False, "NOT_FOR_USERS"),
        (True, "DUE"),
    ]
    assert (document["userId"], document["username"], document["notified"]) == (ada.id, ada.username, False)


def test_a_user_without_any_address(fleet: AlertExplainer) -> None:
    ada = member(fleet.project, Role.GROUP_OWNER, email_address=None, mobile_number=None)
    fleet.down(OF_GROUP)
    assert fleet.of_user(ada) == [(False, "NO_ADDRESS")]


def test_a_user_who_is_among_recipients_that_are_not_looked_up_yet(fleet: AlertExplainer) -> None:
    ada = member(fleet.project, Role.GROUP_OWNER)
    fleet.down({**OF_GROUP, "delayMin": 10}, bodies.email())
    assert fleet.of_user(ada) == [(True, "DELAYED"), (False, "OTHER_ADDRESS")]


def test_a_user_whose_message_is_muted(fleet: AlertExplainer, outside: Outside) -> None:
    ada = member(fleet.project, Role.GROUP_OWNER)
    fleet.down(OF_GROUP)
    window = fleet.mute()
    deliver_all()
    (each,) = fleet.explanation(ada)["user"]["notifications"]
    assert (each["reaches"], each["reason"], each["maintenanceWindowId"]) == (True, "MUTED", window)


def test_a_user_who_joined_after_the_message(fleet: AlertExplainer, outside: Outside) -> None:
    member(fleet.project, Role.GROUP_OWNER)
    alert = fleet.down({**OF_GROUP, "intervalMin": 60})
    deliver_all()
    Notification.objects.filter(alert=alert, status="PENDING").delete()
    late = member(fleet.project, Role.GROUP_OWNER)
    assert fleet.of_user(late) == [(True, "NOT_A_RECIPIENT_THEN")]


def test_a_user_before_the_alert_opens(fleet: AlertExplainer) -> None:
    ada = member(fleet.project, Role.GROUP_OWNER)
    fleet.down({**OF_GROUP, "delayMin": 10})
    assert fleet.of_user(ada) == [(True, "NOT_OPEN")]


def test_a_user_of_the_organization_lacks_the_role(fleet: AlertExplainer) -> None:
    ada = make_user(org(Role.ORG_MEMBER, fleet.project))
    fleet.down(OF_GROUP)
    assert fleet.of_user(ada) == [(False, "ROLE_MISSING")]


def test_strangers_and_unknown_users_are_not_found_alike(fleet: AlertExplainer) -> None:
    stranger = member(ProjectFactory.create(), Role.GROUP_OWNER)
    fleet.down()
    reader = client(group(Role.GROUP_READ_ONLY, fleet.project))
    for user_id in (stranger.id, "0123456789abcdef01234567"):
        assert refusal(fleet.asked(caller=reader, user_id=user_id)) == (404, "USER_NOT_FOUND")
    assert refusal(fleet.asked(caller=reader, user_id="ada")) == (400, "INVALID_QUERY_PARAMETER")


# --- who may ask ----------------------------------------------------------------------------------


def _status(fleet: AlertExplainer, grants: Iterable[Grant]) -> int:
    return int(fleet.asked(caller=client(*grants)).status_code)


def test_readers_of_the_project_may_ask(fleet: AlertExplainer) -> None:
    fleet.down()
    assert _status(fleet, [group(Role.GROUP_READ_ONLY, fleet.project)]) == 200
    assert _status(fleet, [group(Role.GROUP_OWNER, ProjectFactory.create())]) == 403
    missing = fleet.owner.get(f"{fleet.base}/alerts/0123456789abcdef01234567/explanation")
    assert refusal(missing) == (404, "ALERT_NOT_FOUND")


def test_a_global_configuration_is_hidden_from_readers_of_a_project(
    fleet: AlertExplainer, outside: Outside
) -> None:
    config = make_global_config(notifications=[EMAIL])
    fleet.report(reachable=False)
    deliver_all()
    ada = member(fleet.project, Role.GROUP_OWNER)
    reader = client(group(Role.GROUP_READ_ONLY, fleet.project))
    shown, hidden = fleet.explanation(ada), fleet.asked(caller=reader, user_id=ada.id)
    assert "oncall@example.com" in str(shown)
    assert "oncall@example.com" not in hidden.text
    assert hidden.json()["condition"]["state"] == "HIDDEN"
    assert hidden.json()["withoutMessage"] == []
    assert hidden.json()["user"]["notifications"] == []
    assert "notified" not in hidden.json()["user"]
    of_all = fleet.owner.get(f"/globalAlerts/{fleet.alert.id}/explanation").json()
    assert of_all["alertConfigId"] == config.id


# --- minimum severity -----------------------------------------------------------------------------


def test_a_message_below_the_minimum_severity_says_so(
    fleet: AlertExplainer, project: Project, outside: Outside
) -> None:
    user = member(project, Role.GROUP_OWNER)
    least = {"minSeverity": "CRITICAL"}
    fleet.down(bodies.email(**least), {**OF_GROUP, **least}, severity="WARNING")
    for _ in ("before delivery", "after delivery"):
        assert fleet.reasons() == ["BELOW_MIN_SEVERITY"] * 2
        [of_email, of_group] = fleet.explanation(user)["user"]["notifications"]
        assert (of_email["reaches"], of_group["reason"]) == (False, "BELOW_MIN_SEVERITY")
        deliver_all()
    assert outside.sent == []
    details = [message["detail"] for message in fleet.explanation()["notifications"]]
    assert all(detail.endswith(f": {NotificationReason.BELOW_MIN_SEVERITY}.") for detail in details)
    log = fleet.owner.get(f"{fleet.base}/alerts/{fleet.alert.id}/notifications").json()["results"]
    assert {(row["status"], row["reason"]) for row in log} == {
        ("DROPPED", NotificationReason.BELOW_MIN_SEVERITY.value)
    }
