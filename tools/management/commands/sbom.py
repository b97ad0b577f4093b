"""`manage.py sbom`: writes the bill of materials that the package contains, or checks that it is current."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tools.bill_of_materials import BillError, bill_of_materials

FILE = "sbom.cdx.json"


class Command(BaseCommand):
    """Reads requirements.txt and the installed packages, and asks no package index."""

    help = "Write sbom.cdx.json, the bill of materials in the format CycloneDX."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Called by Django."""
        parser.add_argument("--check", action="store_true", help="write nothing; fail if it is not current")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError if the file is not current, or cannot be written here."""
        root = Path(settings.BASE_DIR)
        path = root / FILE
        try:
            bill = bill_of_materials(root)
        except BillError as error:
            raise CommandError(str(error)) from None
        if options["check"]:
            if not path.is_file() or path.read_text(encoding="utf-8") != bill:
                raise CommandError(f"{FILE} is not current: run `make sbom`")
            return
        path.write_text(bill, encoding="utf-8")
