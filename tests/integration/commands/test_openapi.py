"""manage.py openapi."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from opsapi.management.commands import openapi


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the command writes."""
    path = tmp_path / "openapi.json"
    monkeypatch.setattr(openapi, "DOCUMENT", path)
    return path


def test_it_writes_a_document_that_is_then_current(document: Path) -> None:
    call_command("openapi")
    assert document.exists()
    call_command("openapi", "--check")


def test_it_reports_an_outdated_document(document: Path) -> None:
    document.write_text("{}")
    with pytest.raises(CommandError, match="not current"):
        call_command("openapi", "--check")
    assert document.read_text() == "{}"
