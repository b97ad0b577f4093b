"""A colleague is invited by link, opens it in another browser, and is in."""

import pytest
from playwright.sync_api import Browser, Page, expect

from accesslist.models import Invitation, Project, User
from opsapi.page_paths import INVITATION_PATH
from opsapi.roles import Role
from tests.browser.accessibility import is_for_everybody_as_opened
from tests.browser.chromium import new_context
from tests.browser.faults import Faults
from tests.browser.people import START
from tests.browser.sessions import enter
from tests.browser.site import Site
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.accesslist import PASSWORD, UserFactory

pytestmark = pytest.mark.chromium


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_from_the_users_page_to_a_colleague_with_roles(
    look: Viewport, page: Page, browser: Browser, site: Site, project: Project
) -> None:
    lead: User = UserFactory.create(username="mira")
    lead.grants.create(role=Role.GROUP_OWNER.value, project=project)
    enter(page.context, site.url, lead)
    page.goto("/admin/accesslist/user/")
    page.get_by_role("link", name="Invite").click()
    page.get_by_label("By a link").check()
    page.get_by_label("E-mail address").fill("grace@example.com")
    page.get_by_label("Operator").check()
    is_for_everybody_as_opened(page)
    page.get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_role("button", name="Copy the link")).to_be_visible()
    is_for_everybody_as_opened(page)
    link = page.locator("#invitation-link").inner_text()
    page.get_by_role("link", name="I've saved it").click()
    expect(page.get_by_role("link", name="Send again")).to_be_visible()
    assert link not in page.content()

    elsewhere = new_context(browser, site.url, look)
    watching = Faults(elsewhere, site.url)
    colleague = elsewhere.new_page()
    colleague.goto(f"{INVITATION_PATH}#{link.partition('#')[2]}")
    expect(colleague.get_by_role("button", name="Create account")).to_be_visible()
    expect(colleague).to_have_url(INVITATION_PATH)
    is_for_everybody_as_opened(colleague)
    colleague.get_by_role("textbox", name="Username").fill("grace")
    for label in ("Password", "Confirm password"):
        colleague.get_by_role("textbox", name=label).first.fill(PASSWORD)
    colleague.get_by_label("First name").fill("Grace")
    colleague.get_by_label("Last name").fill("Hopper")
    colleague.get_by_role("button", name="Create account").click()
    expect(colleague).to_have_url(START)
    expect(colleague.get_by_text("You joined the project")).to_be_visible()
    user = User.objects.get(username="grace")
    assert [grant.role for grant in user.grants.all()] == [Role.GROUP_MONITORING_ADMIN]
    assert Invitation.objects.get().outcome == "ACCEPTED"

    watching.expects(410)
    colleague.goto(f"{INVITATION_PATH}#{link.partition('#')[2]}")
    expect(colleague.get_by_text("This invitation has been used.")).to_be_visible()
    is_for_everybody_as_opened(colleague)
    elsewhere.close()
    assert not watching.all(), "\n".join(watching.all())
