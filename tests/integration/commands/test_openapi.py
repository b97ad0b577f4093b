"""manage.py openapi."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from opsapi.api.root import DOCUMENT
from opsapi.management.commands import openapi

PUBLISHED = DOCUMENT.read_text()


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the command writes."""
    path = tmp_path / "openapi.json"
    monkeypatch.setattr(openapi, "DOCUMENT", path)
    return path


@pytest.mark.slow
def test_it_reports_an_outdated_document_and_writes_the_published_one(document: Path) -> None:
    document.write_text("{}")
    with pytest.raises(CommandError, match="not current"):
        call_command("openapi", "--check")
    assert document.read_text() == "{}"
    call_command("openapi")
    assert document.read_text() == PUBLISHED
