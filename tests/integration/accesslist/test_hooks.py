"""What others hear of deletions, inside the transaction that deletes (architecture, inversion 2)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.dispatch import Signal

from accesslist.hooks import team_deleting, user_deleting
from accesslist.models import Project, RateWindow, Team, User
from accesslist.teams.changes import team_delete
from accesslist.users.changes import user_delete
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role
from tests.api.recipients import make_user
from tests.factories.accesslist import make_team

pytestmark = pytest.mark.django_db

BY = [Grant(Role.GLOBAL_USER_ADMIN)]


@contextmanager
def written_on(signal: Signal, is_there: Callable[[], bool]) -> Iterator[list[bool]]:
    """Somebody who writes when the signal comes; the list says of each time whether the row was there."""
    heard: list[bool] = []

    def write(**_: object) -> None:
        heard.append(is_there())
        RateWindow.objects.create(bucket="heard", started=clock.now(), count=1)

    signal.connect(write)
    try:
        yield heard
    finally:
        signal.disconnect(write)


def fail(**_: object) -> None:
    """What goes wrong after the signal."""
    raise RuntimeError


def test_a_failed_user_deletion_undoes_the_signal_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    monkeypatch.setattr("accesslist.users.changes.user_event_record", fail)
    with (
        written_on(user_deleting, User.objects.filter(id=user.id).exists) as heard,
        pytest.raises(RuntimeError),
    ):
        user_delete(user_id=user.id, by=BY, actor=SYSTEM, now=clock.now())
    assert heard == [True]
    assert not RateWindow.objects.exists()


def test_a_failed_team_deletion_undoes_the_signal_handlers(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = make_team(project)
    monkeypatch.setattr("accesslist.teams.changes.users_revoke", fail)
    with (
        written_on(team_deleting, Team.objects.filter(id=team.id).exists) as heard,
        pytest.raises(RuntimeError),
    ):
        team_delete(team_id=team.id, org_id=project.org_id or "", actor=SYSTEM, now=clock.now())
    assert heard == [True]
    assert not RateWindow.objects.exists()


def test_a_successful_deletion_keeps_the_signal_handlers_changes(project: Project) -> None:
    user = make_user()
    with written_on(user_deleting, User.objects.filter(id=user.id).exists) as heard:
        user_delete(user_id=user.id, by=BY, actor=SYSTEM, now=clock.now())
    assert heard == [True]
    assert RateWindow.objects.get().bucket == "heard"
    assert not User.objects.filter(id=user.id).exists()
