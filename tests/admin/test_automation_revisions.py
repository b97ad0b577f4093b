"""The page of a revision: its changes, next to the previous version."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from automation.desired_state import console as revision_page
from automation.desired_state.document import text
from automation.models import AutomationRevision
from tests.factories.automation import publish

pytestmark = pytest.mark.django_db


def compared(revision: AutomationRevision, console: Client) -> str:
    """The page, without the marks of a line."""
    answer = console.get(reverse("admin:automation_automationrevision_change", args=[revision.pk]))
    assert answer.status_code == 200
    return answer.text.replace("<pre>", "").replace("</pre>", "").replace("&quot;", '"')


def test_a_change_outside_processes_is_next_to_what_was_there(console: Client, project: Project) -> None:
    publish(project, 0, options={"downloadBase": "/var/lib/old"}, auth={"key": "first secret"})
    page = compared(
        publish(project, 1, options={"downloadBase": "/var/lib/new"}, auth={"key": "second secret"}), console
    )
    old, new = '    "downloadBase": "/var/lib/old"', '    "downloadBase": "/var/lib/new"'
    assert '<tbody class="changed">' in page
    assert f"<tr><td>{old}</td><td>{new}</td></tr>" in page
    assert '<th scope="col">Version 1</th><th scope="col">Version 2</th>' in page
    assert "secret" not in page


def test_no_secret_of_any_kind_is_shown(console: Client, project: Project) -> None:
    for version, secret in enumerate(["4711471147", "5822582258"]):
        url = f"https://ada:{secret}@example.com/?t={secret}"
        page = compared(
            publish(project, version, agentVersion={"directoryUrl": url}, env={"DB_PASS": int(secret)}),
            console,
        )
        assert '"directoryUrl": "https://******@example.com/?******"' in page
        assert "4711471147" not in page
        assert "5822582258" not in page


def test_the_first_one_is_next_to_what_a_project_starts_from(console: Client, project: Project) -> None:
    page = compared(publish(project, 0), console)
    assert '<th scope="col">Version 0</th><th scope="col">Version 1</th>' in page


def test_markup_in_a_document_stays_text(console: Client, project: Project) -> None:
    page = compared(publish(project, 0, options={"downloadBase": "<b>bold</b>"}), console)
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold" in page


def test_documents_beyond_the_limit_are_not_compared(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "MOST_LINES", 3)
    page = compared(publish(project, 0), console)
    assert "Too large to compare here" in page
    assert 'class="revision-side-by-side"' not in page


def test_every_changed_field_has_its_old_and_new_value(console: Client, project: Project) -> None:
    first = publish(project, 0)
    (process,) = first.diffs
    page = compared(first, console)
    assert f"<small>{process['id']}</small>" in page
    fields = re.findall(r'<th scope="row" data-label="Field">([^<]*)</th>', page)
    assert {field.partition(" · ")[0] for field in fields} == {
        param["display"] for param in process["params"]
    }
    assert "No process changed." not in page


def test_more_processes_than_a_page_can_show_are_cut_and_counted(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revision_page, "MOST_CHANGED", 0)
    page = compared(publish(project, 0), console)
    assert "… and 1 more" in page
    assert 'data-label="Field"' not in page
