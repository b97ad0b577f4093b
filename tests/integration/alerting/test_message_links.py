"""The links of messages lead to pages of the console, which a worker does not import."""

from urllib.parse import urlsplit

import pytest
from django.test import override_settings
from django.urls import resolve

from accesslist.models import Project
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.alerting import make_config
from tests.factories.events import key_added
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.without_project import KEY_ADDED

pytestmark = pytest.mark.django_db


def test_a_message_without_urls_of_this_process_leads_to_its_pages(
    project: Project, agent: ApiClient, outside: Outside
) -> None:
    make_config(project)
    make_config(project, **KEY_ADDED)
    agent.report(project.id, bodies.report(bodies.host(reachable=False)))
    key_added(project)
    with override_settings(ROOT_URLCONF="there_is.no_such_module"):
        evaluate()
        deliver_all()
    messages = [message for _, _, message in outside.sent]
    links = {str(link) for message in messages for link in (message.link, message.config_link) if link}
    assert {resolve(urlsplit(link).path).url_name for link in links} == {
        "alerting_alert_change",
        "alerting_alertconfig_change",
        "events_event_change",
    }
