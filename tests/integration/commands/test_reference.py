"""manage.py reference."""

import shutil
from pathlib import Path

import pytest
from django.conf import settings as real
from django.core.management import CommandError, call_command
from pytest_django import Settings

PAGES = ("settings.md", "events.md", "errors.md", "metrics.md", "stages.md", "reasons.md")


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, settings: Settings) -> Path:
    """A checkout with nothing but the file of settings."""
    shutil.copy(real.BASE_DIR / ".env.example", tmp_path)
    settings.BASE_DIR = tmp_path
    return tmp_path


def test_it_writes_pages_that_are_then_current(checkout: Path) -> None:
    call_command("reference")
    assert {path.name for path in (checkout / "docs" / "reference").iterdir()} == set(PAGES)
    call_command("reference", "--check")


@pytest.mark.parametrize("page", PAGES)
def test_check_reports_an_outdated_page_and_does_not_write_it(checkout: Path, page: str) -> None:
    call_command("reference")
    path = checkout / "docs" / "reference" / page
    path.write_text("old")
    with pytest.raises(CommandError, match=f"^docs/reference/{page}: not current"):
        call_command("reference", "--check")
    assert path.read_text() == "old"


def test_check_reports_all_missing_pages() -> None:
    with pytest.raises(CommandError) as caught:
        call_command("reference", "--check")
    assert all(page in str(caught.value) for page in PAGES)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("#OPSAPI_BIND=127.0.0.1:8000\n", ""),
        ("#OPSAPI_BIND=127.0.0.1:8000\n", "#OPSAPI_BIND=127.0.0.1:8000\n#OPSAPI_BOUND=1\n"),
        ("#OPSAPI_WORKERS=2\n", "#OPSAPI_WORKERS=2\n# Again.\n#OPSAPI_WORKERS=2\n"),
        ("# Web worker processes.\n#OPSAPI_WORKERS=2\n", "\n# --- new ---\n#OPSAPI_WORKERS=2\n"),
        ("#OPSAPI_WORKERS=2\n", "OPSAPI_WORKERS: 2\n"),
    ],
    ids=["a setting misses", "one that is not read", "one twice", "nothing said", "no line of settings"],
)
def test_it_refuses_a_source_without_the_expected_content(checkout: Path, line: str, instead: str) -> None:
    path = checkout / ".env.example"
    assert line in path.read_text()
    path.write_text(path.read_text().replace(line, instead))
    with pytest.raises(CommandError, match=r"^\.env\.example: "):
        call_command("reference")
    assert not (checkout / "docs").exists()
