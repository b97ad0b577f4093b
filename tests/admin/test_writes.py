"""What no page of the console writes, whatever its model: all goes through an action."""

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.models import AlertConfig
from tests.admin.rows import fill
from tests.admin.writing import leaves_events, post
from tests.each import each

pytestmark = pytest.mark.django_db

CONFIGS = "/admin/alerting/alertconfig/"


@each(
    "path",
    [
        "/admin/accesslist/rolegrant/add/",
        "/admin/accesslist/ratewindow/add/",
        "/admin/events/event/add/",
        "/admin/alerting/notification/add/",
    ],
)
def test_nothing_else_can_be_added(path: str, console: Client, operator: User) -> None:
    with leaves_events(operator):
        assert post(console, path, name="x").status_code == 403


def test_nothing_is_changed_in_place(console: Client, operator: User, project: Project) -> None:
    fill(project)
    config = AlertConfig.objects.get()
    pages = [
        (f"/admin/accesslist/project/{project.id}/change/", {"name": "other"}),
        (f"/admin/accesslist/user/{operator.id}/change/", {"username": "other"}),
        (f"{CONFIGS}{config.id}/change/", {"enabled": "", "settings-TOTAL_FORMS": "0"}),
    ]
    for path, values in pages:
        with leaves_events(operator):
            assert post(console, path, **values).status_code == 403
    for path, _ in pages[:2]:
        with leaves_events(operator):
            refused = post(console, path.replace("/change/", "/delete/"), post="yes")
            assert refused.status_code in {302, 404}


def test_nothing_else_is_deleted_in_bulk(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator):
        post(
            console,
            "/admin/accesslist/project/",
            action="delete_selected",
            _selected_action=[project.id],
            post="yes",
        )
    assert Project.objects.filter(id=project.id).exists()
