"""A kiosk in a browser without a session: it shows the board, refreshes it, and ends."""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from accesslist.kiosks.changes import kiosk_create
from accesslist.models import Kiosk, Project, User
from accesslist.principal import UserPrincipal
from alerting.models import Alert
from opsapi import clock
from opsapi.roles import Scope
from tests.browser.accessibility import is_for_everybody
from tests.browser.faults import Faults
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host

pytestmark = pytest.mark.chromium

EVERY = "00:11"


def _refresh(page: Page) -> None:
    with page.expect_response(lambda answer: answer.url.endswith("/kiosk/board/")):
        page.clock.fast_forward(EVERY)


def test_a_kiosk_shows_the_board_until_it_is_revoked(
    page: Page, faults: Faults, operator: User, project: Project
) -> None:
    actor = UserPrincipal(operator, None).actor()
    now = clock.now()
    here = Scope(group_id=project.id)
    token = kiosk_create(here=here, desc="hall", lasts=timedelta(days=1), actor=actor, now=now).token
    make_host(project, "db1.example.com")
    make_alert(project, facts={"hostname": "first.example.com", "port": 27017})
    page.clock.install()
    page.goto(f"/kiosk/#{token}")
    board = page.get_by_role("main")
    expect(board.get_by_role("heading", level=1)).to_have_text(project.name)
    expect(board).to_contain_text("1 alert needs somebody")
    is_for_everybody(page)
    make_alert(project, facts={"hostname": "second.example.com", "port": 27017})
    _refresh(page)
    expect(board).to_contain_text("second.example.com")
    expect(page.get_by_role("link")).to_have_count(0)
    assert page.context.cookies() == []
    assert Alert.objects.count() == 2
    Kiosk.objects.all().delete()
    faults.expects(404)
    _refresh(page)
    expect(page.get_by_text("This address shows nothing.")).to_be_visible()
    expect(board).to_be_empty()
