"""Explanations on the pages of alerts and alert configurations."""

from datetime import timedelta

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.engine.choices import NotificationStatus
from alerting.models import Alert, AlertConfig
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_create
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.console.admin_urls import page_url
from opsapi.roles import Role
from tests.admin.alert_pages import alert_page
from tests.admin.operators import action_url
from tests.admin.reading import shown
from tests.admin.writing import confirm
from tests.api.recipients import group, make_user
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
NAMED_DB = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}
STANDALONE = {"fieldName": "TYPE_NAME", "operator": "EQUALS", "value": "STANDALONE"}
OWNERS = {"typeName": "GROUP", "roles": ["GROUP_OWNER"], "emailEnabled": True, "delayMin": 0}


def open_alert(config: AlertConfig, project: Project) -> Alert:
    """An open alert of the configuration."""
    return make_alert(project, config_id=config.id)


def reader(project: Project, username: str) -> User:
    """A user with an e-mail address who can only read."""
    return make_user(
        group(Role.GROUP_READ_ONLY, project), username=username, email_address=f"{username}@example.com"
    )


def test_the_page_of_an_alert_shows_matchers_with_recorded_values(console: Client, project: Project) -> None:
    alert = open_alert(make_config(project, matchers=[NAMED_DB, STANDALONE]), project)
    why = shown(console, alert_page(alert)).partition("Why it started")[2].partition("</section>")[0]
    assert "HOSTNAME starts with “db”" in why
    assert "“db1.example.com”" in why
    assert "not recorded" in why


def test_the_page_of_an_alert_says_why_a_message_waits(console: Client, project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    alert = open_alert(config, project)
    setting = config.settings.get().id
    make_notification(project, alert=alert, due=clock.now() + HOUR, setting_id=setting)
    assert "the delay of the notification has not passed" in shown(console, alert_page(alert))
    now = clock.now()
    values = {"start": now - HOUR, "end": now + 9 * HOUR, "alert_types": ["HOST"], "description": "disks"}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=now)
    assert "maintenance window “disks” mutes the alert" in shown(console, alert_page(alert))


def test_a_chosen_user_is_explained(console: Client, project: Project) -> None:
    ada = reader(project, "ada.l")
    alert = open_alert(make_config(project, notifications=[OWNERS]), project)
    page = alert_page(alert)
    assert "does not have the required role" not in shown(console, page)
    text = shown(console, f"{page}?user={ada.id}")
    assert "ada.l was not notified" in text
    assert "does not have the required role" in text


def test_users_of_other_organizations_are_neither_offered_nor_explained(
    monitor: Client, project: Project
) -> None:
    stranger = reader(ProjectFactory.create(), "mallory")
    alert = open_alert(make_config(project, notifications=[OWNERS]), project)
    text = shown(monitor, f"{alert_page(alert)}?user={stranger.id}")
    assert "mallory" not in text
    assert "does not have the required role" not in text


def test_recipients_of_a_global_configuration_are_not_explained_to_others(
    monitor: Client, project: Project
) -> None:
    ada = reader(project, "ada.l")
    config = make_global_config(notifications=[OWNERS])
    alert = make_alert(project, config_id=config.id, is_global=True)
    text = shown(monitor, f"{alert_page(alert)}?user={ada.id}")
    assert "you need a global role to see it" in text
    assert "does not have the required role" not in text


def test_the_page_of_a_configuration_explains_a_host(console: Client, project: Project) -> None:
    host = make_host(project)
    config = make_config(project, enabled=False)
    page = page_url(config)
    assert "does not alert" not in shown(console, page)
    text = shown(console, f"{page}?host={host}")
    assert f"{host} does not alert now." in text
    assert "The configuration is disabled." in text


def test_an_unknown_host_is_refused(console: Client, project: Project) -> None:
    other = make_host(ProjectFactory.create(), hostname="elsewhere.example.com")
    page = page_url(make_config(project))
    for name in (str(other), "no address"):
        assert "The project has no such host." in shown(console, f"{page}?host={name}")


def test_a_global_configuration_has_no_host_to_explain(console: Client) -> None:
    assert "Explain for a host" not in shown(console, page_url(make_global_config()))


def test_a_message_without_an_address_leads_to_where_it_is_set(console: Client, project: Project) -> None:
    config = make_config(project, notifications=[OWNERS])
    alert = open_alert(config, project)
    notification = make_notification(
        project,
        alert=alert,
        setting_id=config.settings.get().id,
        status=NotificationStatus.DROPPED.value,
        reason=NotificationReason.NO_ADDRESS.value,
    )
    for url in (alert_page(alert), page_url(notification)):
        page = shown(console, url)
        assert "no user has an address for this channel" in page
        assert 'href="/admin/account/details/">Set your own address' in page


def test_a_configuration_without_an_address_leads_to_where_it_is_set(
    console: Client, operator: User, project: Project
) -> None:
    operator.grants.create(role=Role.GROUP_OWNER.value, project=project)
    User.objects.filter(id=operator.id).update(email_address=None)
    config = make_config(project, notifications=[OWNERS])
    tested = confirm(console, action_url(config, "test"))
    assert 'href="/admin/account/details/">Set your own address' in tested.content.decode()
