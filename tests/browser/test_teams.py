"""A team gets roles on the page of a project, gets others, and leaves."""

import pytest
from playwright.sync_api import Locator, Page, expect

from accesslist.models import Project, RoleGrant, Team
from opsapi.console.admin_urls import page_url
from tests.browser.accessibility import is_for_everybody

pytestmark = pytest.mark.chromium


@pytest.fixture
def team(project: Project) -> Team:
    """A team without a role in the project. It is the only one, so that the form chooses it."""
    return Team.objects.create(org_id=project.org_id, name="Database on call", created=project.created)


def _teams(page: Page) -> Locator:
    return page.get_by_role("region", name="Teams")


def _roles(team: Team) -> set[str]:
    return set(RoleGrant.objects.filter(team=team).values_list("role", flat=True))


def test_a_team_is_added_changed_and_removed(console: Page, project: Project, team: Team) -> None:
    console.goto(page_url(project))
    expect(_teams(console)).to_contain_text("No team has roles in the project.")
    console.get_by_role("link", name="Add team").click()
    console.get_by_label("Operator").check()
    is_for_everybody(console)
    console.get_by_role("button", name="Add team").click()
    expect(_teams(console).get_by_role("row").filter(has_text=team.name)).to_contain_text("Operator")
    is_for_everybody(console)

    _teams(console).get_by_role("link", name=f"Change roles of {team.name}").click()
    expect(console.get_by_label("Operator")).to_be_checked()
    console.get_by_label("User administrator").check()
    is_for_everybody(console)
    console.get_by_role("button", name="Change roles").click()
    expect(_teams(console)).to_contain_text("User administrator")
    assert _roles(team) == {"GROUP_MONITORING_ADMIN", "GROUP_USER_ADMIN"}

    _teams(console).get_by_role("link", name=f"Remove {team.name}").click()
    is_for_everybody(console)
    console.get_by_role("button", name="Remove team").click()
    expect(console.get_by_text(f"The team {team.name} no longer has roles in the project.")).to_be_visible()
    assert _roles(team) == set()
