"""`setup DIR`: writes the settings, systemd units and nginx configuration of a server installation."""

import shlex
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from opsapi import program

_UNITS = ("opsapi-migrate.service", "opsapi-web.service", "opsapi-worker@.service")
_FILES = ("nginx.conf", "opsapi.env", *_UNITS)
_CHECKOUT = "/opt/opsapi"
_STATE = "/var/lib/opsapi"
_PYTHON = f"{_CHECKOUT}/.venv/bin/python"
_HOMES = ("/home/", "/root/", "/run/user/")


class Command(BaseCommand):
    """Copies the files of `deploy/`; the units run the program that wrote them."""

    help = "Write settings, systemd units and an nginx configuration for a server; overwrite nothing."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR", help="it is created if it does not exist")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Write all files, or none: raises CommandError if a file exists or cannot be written."""
        directory: Path = options["directory"]
        if existing := [name for name in _FILES if (directory / name).exists()]:
            raise CommandError(f"nothing was written, because {directory} has {', '.join(existing)} already")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name in _FILES:
                # The settings will hold secrets.
                (directory / name).touch(0o600 if name.endswith(".env") else 0o644, exist_ok=False)
                (directory / name).write_text(_text(name))
        except OSError as error:
            raise CommandError(f"{directory}: {error.strerror}") from None
        self.stdout.write("".join(f"{directory / name}\n" for name in _FILES))
        self.stdout.write("Next: set DATABASE_URL, OPSAPI_PUBLIC_URL and the keys in opsapi.env.")
        if sys.executable.startswith(_HOMES):
            self.stderr.write(
                f"The units cannot run {sys.executable}: they see no home directories. Install the program"
                f" outside of them: python3 -m venv {_CHECKOUT}/.venv"
            )


def _text(name: str) -> str:
    text = (program.FILES / "deploy" / name).read_text()
    if program.IS_CHECKOUT or name not in _UNITS:
        return text
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("Documentation=")]
    return (
        "".join(lines)
        .replace(f"{_PYTHON} manage.py", shlex.join(program.arguments()))
        .replace(f"{_PYTHON} -m gunicorn", shlex.join(program.module("gunicorn")))
        .replace(f"WorkingDirectory={_CHECKOUT}", f"WorkingDirectory={_STATE}")
        .replace(_CHECKOUT, sys.prefix)
    )
