"""What the start page says about the growth of projects and the disk of the database."""

import re
import shutil
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accesslist.models import Project
from automation.models import StoredDay
from opsapi import clock
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.each import each
from tests.factories.accesslist import ProjectFactory

GB = 10**9
# At noon, so that no day ends during a test.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def panel(browser: Client) -> str:
    """The panel as text."""
    found = re.search(r'<section id="overview-growth".*?</section>', shown(browser, "/admin/"), re.DOTALL)
    assert found
    return " ".join(re.sub(r"<.*?>", " ", found[0]).split())


def store(project: Project, **octets: int) -> None:
    """Bytes of so many days ago: `d0` is today."""
    today = clock.now().astimezone(UTC).date()
    for name, number in octets.items():
        day = today - timedelta(days=int(name[1:]))
        StoredDay.objects.create(group=project, day=day, octets=number)


def test_it_shows_today_and_the_mean_of_a_week(project: Project, console: Client) -> None:
    Project.objects.update(created=clock.now() - timedelta(days=30))
    store(project, d0=3 * 2**20, d1=4 * 2**20, d7=10 * 2**20, d8=2**40)
    assert f"{project.name} 3.0 MB 2.0 MB" in panel(console)


def test_it_shows_the_mean_of_each_kind(project: Project, console: Client) -> None:
    Project.objects.update(created=clock.now() - timedelta(days=30))
    yesterday = clock.now().astimezone(UTC).date() - timedelta(days=1)
    kinds = {"octets": 7, "alert_octets": 14, "message_octets": 21, "change_octets": 28}
    StoredDay.objects.create(
        group=project, day=yesterday, **{name: number * 2**20 for name, number in kinds.items()}
    )
    assert f"{project.name} 0 bytes 10.0 MB 1.0 MB 2.0 MB 3.0 MB 4.0 MB" in panel(console)


def test_a_project_without_reports_is_shown(project: Project, console: Client) -> None:
    today = clock.now().astimezone(UTC).date()
    StoredDay.objects.create(group=project, day=today, octets=0, change_octets=2**20)
    assert f"{project.name} 1.0 MB" in panel(console)


def test_a_new_project_has_a_mean_of_its_own_days(project: Project, console: Client) -> None:
    Project.objects.update(created=clock.now() - timedelta(days=2))
    store(project, d1=2 * 2**20, d2=2 * 2**20)
    assert f"{project.name} 0 bytes 2.0 MB" in panel(console)


def test_the_largest_is_first_and_of_others_nobody_learns(project: Project, console: Client) -> None:
    other: Project = ProjectFactory.create(name="theirs")
    store(project, d0=1)
    store(other, d0=2)
    text = panel(console)
    assert text.index("theirs") < text.index(project.name)
    text = panel(browser_with(Role.GROUP_READ_ONLY, project=project))
    assert "theirs" not in text
    assert "disk" not in text


class TestDisk:
    """The disk of the embedded database: a warning while there is time to act."""

    @pytest.fixture(autouse=True)
    def _embedded(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        settings.OPSAPI_EMBEDDED_DATABASE = True
        self.free = 50 * GB
        monkeypatch.setattr(shutil, "disk_usage", self.usage)

    def usage(self, path: Path) -> Any:
        return type("Usage", (), {"free": self.free, "total": 100 * GB})

    @each(("free", "warns"), [(50, False), (20, False), (19, True), (0, True)])
    def test_it_warns_when_less_than_a_fifth_is_free(self, console: Client, free: int, warns: bool) -> None:
        self.free = free * GB
        assert ("Less than a fifth of the disk" in shown(console, "/admin/")) is warns

    def test_only_users_who_read_everything_learn_of_it(self, project: Project) -> None:
        self.free = 0
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        assert "Less than a fifth of the disk" not in shown(reader, "/admin/")

    def test_the_space_of_a_database_elsewhere_is_unknown(self, console: Client, settings: Settings) -> None:
        settings.OPSAPI_EMBEDDED_DATABASE = False
        self.free = 0
        text = panel(console)
        assert "unknown" in text
        assert "Less than a fifth of the disk" not in shown(console, "/admin/")

    def test_a_disk_that_cannot_be_read_is_unknown(
        self, project: Project, console: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(path: Path) -> Any:
            raise PermissionError(path)

        monkeypatch.setattr(shutil, "disk_usage", fail)
        assert "unknown" in panel(console)
