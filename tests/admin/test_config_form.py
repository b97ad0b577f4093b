"""Alert configurations created in the console, as the API would."""

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.models import AlertConfig
from events.models import Event
from events.types import EventType
from opsapi.roles import Role
from tests.admin.configs import ADD, CONFIGS, HOSTILE, TYPES, facts, send, typed_config
from tests.admin.operators import browser_with
from tests.admin.reading import shown, text_of
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db


class TestMaking:
    """POST, by a form."""

    @each("role", [Role.GROUP_MONITORING_ADMIN, Role.GROUP_OWNER])
    def test_who_may_write_a_project_makes_one_there(self, role: Role, project: Project) -> None:
        browser = browser_with(role, project=project)
        answer = send(browser, ADD, typed_config(project.id))
        made = AlertConfig.objects.get()
        assert answer.headers["Location"] == f"{CONFIGS}{made.id}/change/"
        assert facts(made)["notifications"][0]["emailAddress"] == "oncall@example.com"
        event = Event.objects.get(event_type="ALERT_CONFIG_ADDED_AUDIT")
        assert event.group_id == project.id
        assert event.details["remoteAddress"] == "192.0.2.1"
        assert event.details["userId"] == User.objects.get().id

    @each("role", [Role.GROUP_READ_ONLY, Role.GROUP_USER_ADMIN, Role.GROUP_AUTOMATION_ADMIN])
    def test_who_may_only_read_is_refused(self, role: Role, project: Project) -> None:
        answer = send(browser_with(role, project=project), ADD, typed_config(project.id))
        assert answer.status_code == 403
        assert not AlertConfig.objects.exists()

    @pytest.mark.slow
    @each("target", ["other project", "global", "nonsense"])
    def test_nobody_makes_one_where_they_may_not(self, target: str, project: Project) -> None:
        browser = browser_with(Role.GROUP_OWNER, project=project)
        group = ProjectFactory.create().id if target == "other project" else target
        offered = shown(browser, ADD)
        assert group not in typed_in(offered)["group"]
        answer = send(
            browser, ADD, typed_config(group, **({"forAllGroups": "on"} if group == "global" else {}))
        )
        assert answer.status_code == 200
        assert not AlertConfig.objects.exists()
        assert not Event.objects.filter(event_type="ALERT_CONFIG_ADDED_AUDIT").exists()

    @each("role", [Role.GLOBAL_OWNER, Role.GLOBAL_MONITORING_ADMIN])
    def test_a_global_one_is_created_by_who_may(self, role: Role, project: Project) -> None:
        answer = send(browser_with(role), ADD, typed_config("global", groupIds=[project.id]))
        assert answer.status_code == 302
        assert facts(AlertConfig.objects.get())["groupIds"] == [project.id]

    @each("role", [Role.GLOBAL_READ_ONLY, Role.GLOBAL_AUTOMATION_ADMIN])
    def test_a_global_one_is_not_created_by_others(self, role: Role, project: Project) -> None:
        answer = send(browser_with(role), ADD, typed_config("global", forAllGroups="on"))
        assert answer.status_code == 403
        assert not AlertConfig.objects.exists()

    def test_an_unticked_option_of_a_channel_is_left_to_the_integration(
        self, console: Client, operator: User, project: Project
    ) -> None:
        slack = {
            "notifications[0].typeName": "CHAT_SERVICE",
            "notifications[0].emailAddress": "",
            "notifications[0].apiToken": "token-0123456789",
            "notifications[0].channelName": "oncall",
        }
        send(console, ADD, typed_config(project.id, **slack))
        made = AlertConfig.objects.get()
        assert "updateInPlace" not in facts(made)["notifications"][0]
        change = f"{CONFIGS}{made.id}/do/change/"
        assert "Leave unticked to use the integration of the project." in shown(console, change)
        form = typed_in(shown(console, change))
        send(console, change, {**form, "notifications[0].updateInPlace": "on"})
        assert facts(made)["notifications"][0]["updateInPlace"] is True
        page = shown(console, f"{CONFIGS}{made.id}/change/")
        assert "Slack oncall with messages updated in place" in page
        form = typed_in(shown(console, change))
        assert form.pop("notifications[0].updateInPlace")
        send(console, change, form)
        assert "updateInPlace" not in facts(made)["notifications"][0]

    def test_every_part_arrives(self, console: Client, operator: User, project: Project) -> None:
        typed = typed_config(
            project.id,
            eventTypeName="OUTSIDE_METRIC_THRESHOLD",
            **{
                "matchers[0].fieldName": "HOSTNAME",
                "matchers[0].operator": "STARTS_WITH",
                "matchers[0].value": "db",
                "metricThreshold.metricName": "MEMORY_RESIDENT",
                "metricThreshold.operator": "GREATER_THAN",
                "metricThreshold.threshold": "2.5",
                "metricThreshold.units": "GIGABYTES",
                "notifications[0].delayMin": "5",
                "notifications[3].typeName": "GROUP",
                "notifications[3].roles": ["GROUP_OWNER"],
                "notifications[3].smsEnabled": "on",
            },
        )
        with leaves_events(operator, EventType.ALERT_CONFIG_ADDED_AUDIT):
            send(console, ADD, typed)
        made = facts(AlertConfig.objects.get())
        assert made["matchers"] == [{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}]
        assert made["metricThreshold"]["threshold"] == 2.5
        message = [
            {name: value for name, value in notification.items() if name != "id"}
            for notification in made["notifications"]
        ]
        assert message == [
            {"typeName": "EMAIL", "delayMin": 5, "intervalMin": 60, "emailAddress": "oncall@example.com"},
            {
                "typeName": "GROUP",
                "delayMin": 0,
                "intervalMin": 60,
                "roles": ["GROUP_OWNER"],
                "emailEnabled": False,
                "smsEnabled": True,
            },
        ]

    @pytest.mark.slow
    @each(
        ("changes", "message"),
        [
            ({"eventTypeName": ""}, "Is required."),
            ({"eventTypeName": "OUTSIDE_METRIC_THRESHOLD"}, "Metric threshold: Is required with OUTSIDE"),
            ({"threshold.operator": "LESS_THAN"}, "Threshold: Is not allowed with HOST_DOWN."),
            ({"notifications[0].intervalMin": "4"}, "Must be from 5 to 525600."),
            ({"notifications[0].intervalMin": "often"}, "Must be an integer."),
            ({"notifications[0].emailAddress": "nobody"}, "Is not an e-mail address."),
            (
                {"notifications[0].typeName": "PAGER_SERVICE"},
                "Is required: the project has no PagerDuty (PAGER_SERVICE)",
            ),
            ({"notifications[0].typeName": "ADMIN"}, "ADMIN is for global alert configurations only."),
            ({"notifications[0].typeName": ""}, "Is required."),
            ({"matchers[0].value": HOSTILE}, "Is required."),
            (
                {"notifications[0].typeName": "", "notifications[0].emailAddress": ""},
                "Notifications: Is required.",
            ),
            ({"group": ""}, "Is required."),
        ],
    )
    def test_what_is_wrong_is_reported_and_nothing_happens(
        self, changes: dict[str, str], message: str, console: Client, operator: User, project: Project
    ) -> None:
        with leaves_events(operator):
            answer = send(console, ADD, typed_config(project.id, **changes))
        page = answer.content.decode()
        assert message in page
        assert HOSTILE not in page
        assert not AlertConfig.objects.exists()
        typed = typed_in(page)
        assert typed["group"] == [changes.get("group", project.id)]

    def test_a_fault_is_next_to_its_field(self, console: Client, project: Project) -> None:
        changes = {"notifications[7].typeName": "SMS", "notifications[7].mobileNumber": "12"}
        answer = send(console, ADD, typed_config(project.id, **changes))
        form = answer.context["form"]
        assert list(form.errors) == ["notifications[1].mobileNumber"]
        assert typed_in(answer.content.decode())["notifications[1].mobileNumber"] == ["12"]

    @pytest.mark.slow
    @each("button", [{}, {"add": "notifications"}], ids=["sent", "added"])
    def test_of_too_many_rows_one_more_is_shown_than_may_be(
        self, console: Client, project: Project, button: dict[str, str]
    ) -> None:
        rows = {f"notifications[{place}].typeName": "ADMIN" for place in range(2_000)}
        answer = send(console, ADD, {**typed_config(project.id), **rows, **button})
        assert answer.status_code == 200
        assert len(answer.context["form"].notifications.rows) == 51
        assert button or "at most 50" in text_of(answer)
        assert not AlertConfig.objects.exists()

    def test_without_script_a_row_is_added_by_the_page(
        self, console: Client, operator: User, project: Project
    ) -> None:
        with leaves_events(operator):
            answer = send(console, ADD, typed_config(project.id, add="notifications"))
            again = typed_in(answer.content.decode())
            assert again["notifications[0].emailAddress"] == ["oncall@example.com"]
            assert again["notifications[1].typeName"] == [""]
            assert "matchers[0].fieldName" not in again
            matched = send(console, ADD, typed_config(project.id, add="matchers"))
        assert typed_in(matched.content.decode())["matchers[0].fieldName"] == [""]

    @pytest.mark.slow
    @each("type_name", [name for name in TYPES if name not in {"USER", "TEAM"}])
    def test_without_script_the_fields_of_other_types_are_no_hindrance(
        self, type_name: str, console: Client, project: Project
    ) -> None:
        kind = NOTIFICATION_TYPES[type_name]
        typed = typed_in(shown(console, f"{ADD}?group=global"))
        typed |= {
            "eventTypeName": ["HOST_DOWN"],
            "forAllGroups": ["on"],
            "notifications[0].typeName": [type_name],
        }
        for name, value in kind.example.items():
            texts = value if isinstance(value, list) else ["on"] if value is True else [str(value)]
            typed[f"notifications[0].{name}"] = [] if value is False else texts
        answer = send(console, ADD, typed)
        assert answer.status_code == 302, answer.context["form"].errors
        (made,) = facts(AlertConfig.objects.get())["notifications"]
        assert made["typeName"] == type_name

    def test_a_configuration_without_recipients_has_a_warning(
        self, console: Client, project: Project
    ) -> None:
        changes = {"notifications[0].typeName": "GROUP", "notifications[0].emailAddress": ""}
        answer = send(
            console, ADD, typed_config(project.id, **changes, **{"notifications[0].emailEnabled": "on"})
        )
        assert "Notification 1: no recipients" in shown(console, answer.headers["Location"])
