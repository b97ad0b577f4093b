"""The console where an encryption key is gone: its pages say what can no longer be read."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.test import Client
from django.utils.text import capfirst

from accesslist.login.rules import CodeFault
from accesslist.login.store import has_second_factor
from accesslist.models import ApiKey, Project, SecondFactor, User
from alerting.models import NotificationSetting
from automation.models import AutomationRevision
from integrations.models import Integration
from integrations.typed_documents import UNREADABLE
from tests.admin.logging_in import ACCOUNT, BEGIN, REMOVE, SETUP, errors_of, type_code, type_password
from tests.admin.operators import action_url, page_of
from tests.admin.reading import admin_of
from tests.admin.rows import fill
from tests.admin.times import NOON
from tests.admin.typed import typed_in
from tests.admin.writing import confirm, leaves_events, post
from tests.factories.automation import publish
from tests.factories.integrations import make_integration
from tests.factories.lost_keys import lose_key
from tests.factories.second_factors import begin_second_factor, code_at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

LACKING = "OPSAPI_ENCRYPTION_KEYS"


def test_a_log_in_takes_a_recovery_code_in_place_of_one_by_time(
    client: Client, factor: tuple[str, list[str]]
) -> None:
    secret, codes = factor
    lose_key(SecondFactor)
    type_password(client)
    answer = type_code(client, code_at(secret, NOON))
    assert errors_of(answer) == {"code": [CodeFault.UNREADABLE.value]}
    assert type_code(client, codes[0]).status_code == 302
    assert client.get(ACCOUNT).status_code == 200


def test_a_second_factor_is_removed_with_a_recovery_code(
    client: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    secret, codes = factor
    lose_key(SecondFactor)
    operator.refresh_from_db()
    client.force_login(operator)
    refused = client.post(REMOVE, {"code": code_at(secret, NOON)})
    assert errors_of(refused) == {"code": [CodeFault.UNREADABLE.value]}
    assert client.post(REMOVE, {"code": codes[0]}).status_code == 302
    assert not has_second_factor(operator.id)


def test_one_that_is_being_set_up_is_begun_again(console: Client, operator: User) -> None:
    begin_second_factor(operator, NOON - timedelta(minutes=1))
    lose_key(SecondFactor)
    assert console.get(SETUP)["Location"] == BEGIN
    assert console.get(BEGIN).status_code == 200
    assert begin_second_factor(operator, NOON)


def test_the_page_of_a_revision_says_that_it_cannot_be_read(console: Client, project: Project) -> None:
    revision = publish(project, 0)
    lose_key(AutomationRevision)
    page = console.get(page_of(revision))
    assert page.status_code == 200
    assert page.text.count(LACKING) == 2
    assert "Compared with version" in page.text


def test_it_is_not_restored(console: Client, operator: User, project: Project) -> None:
    first = publish(project, 0)
    publish(project, 1, options={"downloadBase": "/var/lib/new"})
    lose_key(AutomationRevision)
    where = action_url(first, "restore")
    with leaves_events(operator):
        shown = console.get(where)
        done = confirm(console, where, version=2)
    assert LACKING in shown.text
    assert LACKING in done.text
    assert AutomationRevision.objects.count() == 2


def test_the_form_of_an_integration_asks_for_its_secret_again(
    console: Client, operator: User, project: Project
) -> None:
    integration = make_integration(project, "PAGER_SERVICE")
    lose_key(Integration)
    where = action_url(integration, "change")
    with leaves_events(operator):
        answer = post(console, where, **typed_in(console.get(where).text))
    assert capfirst(UNREADABLE) in str(errors_of(answer)["serviceKey"])


@pytest.mark.slow
def test_no_page_breaks(console: Client, project: Project) -> None:
    fill(project)
    lose_key(ApiKey, AutomationRevision, Integration, NotificationSetting, SecondFactor)
    for model in admin.site._registry:
        actions = admin_of(model._meta.label_lower).actions_of_row
        for row in model._default_manager.all():
            for url in (page_of(row), *[action_url(row, name) for name in actions]):
                assert console.get(url).status_code < 500, url
