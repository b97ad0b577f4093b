"""The message after an action, and the label of its button."""

import pytest
from django.test import Client

from accesslist.models import Project, User
from tests.admin.operators import action_url
from tests.admin.writing import confirm, post
from tests.each import each
from tests.factories.accesslist import OrganizationFactory
from tests.factories.alerting import make_config

pytestmark = pytest.mark.django_db

ADD = "/admin/accesslist/organization/add/"
CONFIGS = "/admin/alerting/alertconfig/"


def page_after(console: Client, location: str) -> str:
    """The page that follows."""
    return console.get(location).content.decode()


def test_a_created_row_is_named(console: Client) -> None:
    answer = confirm(console, ADD, name="finance")
    assert "Created: finance." in page_after(console, answer["Location"])


def test_a_changed_row_has_its_new_name(console: Client) -> None:
    org = OrganizationFactory.create(name="finance")
    answer = confirm(console, action_url(org, "rename"), name="accounting <b>")
    assert "Changed: accounting &lt;b&gt;." in page_after(console, answer["Location"])


def test_a_deleted_row_has_its_last_name(console: Client) -> None:
    org = OrganizationFactory.create(name="finance")
    answer = confirm(console, action_url(org, "delete"))
    assert "Deleted: finance." in page_after(console, answer["Location"])


@each(("number", "expected"), [(1, "Disabled: {}."), (2, "Disabled: 2 alert configurations.")])
def test_many_rows_are_counted(number: int, expected: str, console: Client, project: Project) -> None:
    rows = [make_config(project) for _ in range(number)]
    chosen = [row.id for row in rows]
    answer = post(console, CONFIGS, confirmed="yes", action="disable", _selected_action=chosen)
    assert expected.format(rows[0]) in page_after(console, answer["Location"])


def test_buttons_name_the_action_except_for_new_rows(
    console: Client, operator: User, project: Project
) -> None:
    page = console.get(ADD).content.decode()
    assert "New organization</h2>" in page
    assert ">Save</button>" in page
    assert ">Change</button>" in console.get(action_url(project, "change")).content.decode()
