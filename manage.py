#!/usr/bin/env python
"""Django's command line, with the platform's own commands."""

import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import Error

from opsapi.management.commands import serve
from opsapi.management.with_database import line_of
from opsapi.startup import importing


def main() -> None:
    """`serve` starts processes that load the applications, and needs none of them itself."""
    if sys.argv[1:2] == ["serve"]:
        serve.run(sys.argv)
        return
    with importing():
        django.setup()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")
    try:
        main()
    except ImproperlyConfigured as error:
        # A wrong setting is told in one line: a trace would say nothing more to who has to mend it.
        sys.exit(f"ImproperlyConfigured: {error}")
    except Error as error:
        # So is a database that fails, whatever the command; --traceback shows where.
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"CommandError: {line_of(error)}")
