"""manage.py openapi."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings


def test_it_writes_a_document_that_is_then_current(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "docs").mkdir()
    settings.BASE_DIR = tmp_path
    call_command("openapi")
    call_command("openapi", "--check")


def test_it_tells_an_outdated_document(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "openapi.json").write_text("{}")
    settings.BASE_DIR = tmp_path
    with pytest.raises(CommandError, match="not current"):
        call_command("openapi", "--check")
    assert (tmp_path / "docs" / "openapi.json").read_text() == "{}"
