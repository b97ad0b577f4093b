"""`manage.py reference`: writes the pages of docs/reference, or says whether they are current."""

from argparse import ArgumentParser
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from opsapi.api.registry import reference
from opsapi.reference import errors, metrics
from opsapi.reference import settings as settings_page

_MADE = "<!-- Made by `make reference` of what the code says: change it there. -->\n\n"


class Command(BaseCommand):
    """Settings, event types, errors and metrics, as the code has them."""

    help = "Write docs/reference; with --check only say whether it is current."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--check` writes nothing."""
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError for a fault in .env.example, or with --check a page that is not current."""
        import_module(settings.ROOT_URLCONF)  # and with it all that declares settings and series
        directory: Path = settings.BASE_DIR / "docs" / "reference"
        pages = {directory / name: _MADE + text for name, text in _pages().items()}
        if options["check"]:
            _check(pages)
        else:
            directory.mkdir(parents=True, exist_ok=True)
            for path, text in pages.items():
                path.write_text(text)


def _pages() -> Mapping[str, str]:
    """File name → text; of one that several tell of, the apps' parts follow."""
    try:
        pages = {
            "settings.md": settings_page.page(settings.BASE_DIR / ".env.example"),
            "errors.md": errors.page(),
            "metrics.md": metrics.page(),
        }
    except ValueError as error:
        raise CommandError(str(error)) from None
    for name, part in reference():
        pages[name] = f"{pages[name]}\n{part()}" if name in pages else part()
    return pages


def _check(pages: Mapping[Path, str]) -> None:
    outdated = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if outdated:
        names = ", ".join(f"docs/reference/{path.name}" for path in outdated)
        raise CommandError(f"{names}: not current: make reference")
