"""`manage.py openapi`: writes opsapi/api/openapi.json, or checks that it is current."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from opsapi.api.bodies import render
from opsapi.api.root import DOCUMENT
from opsapi.api.schema import openapi_document


class Command(BaseCommand):
    """The document of the existing routes; warnings of the generator are errors."""

    help = "Write opsapi/api/openapi.json; with --check, only check that it is current."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError if the document is invalid, or with --check if it is not current."""
        with GENERATOR_STATS.silence():
            document = openapi_document()
        faults = {*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache}
        if faults:
            raise CommandError("\n".join(sorted(faults)))
        validate_schema(document)  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
        written = render(document, pretty=True) + b"\n"
        if not options["check"]:
            DOCUMENT.write_bytes(written)
        elif not DOCUMENT.exists() or DOCUMENT.read_bytes() != written:
            raise CommandError(f"{DOCUMENT.name} is not current: run make openapi")
