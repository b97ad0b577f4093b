"""The page of a revision: what it changed, beside what was there before."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from automation.document import beside
from automation.models import AutomationRevision
from automation.services.automation_config import automation_config_publish
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.documents import document

pytestmark = pytest.mark.django_db


def publish(project: Project, version: int, **changes: Any) -> AutomationRevision:
    """The next revision."""
    sent = document(version=version, **changes)
    automation_config_publish(
        group_id=project.id, sent=sent, if_match=None, dry_run=False, actor=SYSTEM, now=clock.now()
    )
    return AutomationRevision.objects.get(group=project, number=version + 1)


def page_of(revision: AutomationRevision, console: Client) -> str:
    """The page, without the marks of a line."""
    answer = console.get(reverse("admin:automation_automationrevision_change", args=[revision.pk]))
    assert answer.status_code == 200
    return answer.text.replace("<pre>", "").replace("</pre>", "").replace("&quot;", '"')


def test_a_change_outside_processes_stands_beside_what_was_there(console: Client, project: Project) -> None:
    publish(project, 0, options={"downloadBase": "/var/lib/old"}, auth={"key": "first secret"})
    page = page_of(
        publish(project, 1, options={"downloadBase": "/var/lib/new"}, auth={"key": "second secret"}), console
    )
    old, new = '    "downloadBase": "/var/lib/old"', '    "downloadBase": "/var/lib/new"'
    assert f'<tr><td class="changed">{old}</td><td class="changed">{new}</td></tr>' in page
    assert "<th>Version 1</th><th>Version 2</th>" in page
    assert "secret" not in page


def test_the_first_one_stands_beside_what_a_project_starts_from(console: Client, project: Project) -> None:
    page = page_of(publish(project, 0), console)
    assert "<th>Version 0</th><th>Version 1</th>" in page


def test_markup_in_a_document_stays_text(console: Client, project: Project) -> None:
    page = page_of(publish(project, 0, options={"downloadBase": "<b>bold</b>"}), console)
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold" in page


def test_documents_beyond_the_limit_are_not_compared(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "MOST_LINES", 3)
    page = page_of(publish(project, 0), console)
    assert "Too large to compare here" in page
    assert 'class="beside"' not in page
