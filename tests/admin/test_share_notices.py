"""The notice about a project that uses more than its share of the workers' time."""

from datetime import timedelta

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.engine.share_counts import usage_add
from alerting.engine.usage_rules import NOTICE_MINUTES, SHARE_SECONDS
from alerting.models import MaintenanceWindow
from opsapi import clock
from opsapi.roles import Role
from tests.admin.configs import CONFIGS
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config, make_global_config

OVERVIEW = "/admin/"
SAYS = "more than its share"
pytestmark = pytest.mark.django_db


def exceed(project: Project, minutes_ago: int = 0, **by: str) -> None:
    now = clock.now() - timedelta(minutes=minutes_ago)
    usage_add(group_id=project.id, seconds=SHARE_SECONDS + 1, now=now, **by)


def test_it_names_the_project_and_what_took_the_time(console: Client, project: Project) -> None:
    assert SAYS not in shown(console, OVERVIEW)
    config = make_config(project)
    exceed(project, config_id=config.id)
    for url in (OVERVIEW, f"/admin/accesslist/project/{project.id}/change/"):
        page = shown(console, url)
        assert SAYS in page
        assert f"{CONFIGS}{config.id}/change/" in page


def test_it_names_a_window(console: Client, project: Project) -> None:
    now = clock.now()
    values = {"start": now, "end": now + timedelta(hours=1), "created": now, "updated": now}
    window = MaintenanceWindow.objects.create(group=project, alert_types=["HOST"], **values)
    exceed(project, window_id=window.id)
    assert f"/admin/alerting/maintenancewindow/{window.id}/change/" in shown(console, OVERVIEW)


def test_it_is_gone_some_minutes_later(console: Client, project: Project) -> None:
    exceed(project, minutes_ago=NOTICE_MINUTES + 1)
    assert SAYS not in shown(console, OVERVIEW)


def test_only_readers_of_the_project_see_it(project: Project) -> None:
    other: Project = ProjectFactory.create()
    config = make_global_config()
    exceed(project, config_id=config.id)
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert SAYS in shown(reader, OVERVIEW)
    assert config.id not in shown(reader, OVERVIEW)
    assert SAYS not in shown(browser_with(Role.GROUP_READ_ONLY, project=other), OVERVIEW)
