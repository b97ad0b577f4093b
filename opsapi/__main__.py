"""The command line: Django's commands and the platform's own."""

import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import Error

from opsapi import VERSION
from opsapi.call_stack import with_room
from opsapi.management.commands import serve
from opsapi.management.database_error import line_of
from opsapi.program import COMMAND, importing

OVERVIEW = f"""Ops API {VERSION}, an operations platform for databases.

usage: {COMMAND} <command> [options]

Run the platform
  serve                run everything: PostgreSQL unless DATABASE_URL is set, web server, worker
  setup                write settings, systemd units and an nginx configuration for a server
  prepare              check the settings and migrate the database; serve does this itself
  run_worker           run one more worker

First steps, and help for users who cannot log in
  bootstrap            create the first user and print an API key
  create_key           create an API key and print it
  reset_password       set a new password for a user
  reset_second_factor  remove the second factor of a user
  access_list          show or change the addresses that may use an API key

Maintenance
  backup               write a backup of the database to a directory
  restore              restore a backup into a new installation
  rotate_encryption    encrypt all stored secrets with the newest key
  upgrade_database     move the embedded database to a new major version of PostgreSQL
  move_measurements    move measurements of an older version at once
  measurement_disk     show the disk that measurements take, and that other settings would need

{COMMAND} <command> --help explains a command. {COMMAND} --version prints the version.
"""


@with_room
def main() -> None:
    """Run the command in the arguments; without one, print an overview."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")
    try:
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"opsapi {VERSION}\n")
        elif sys.argv[1:] in ([], ["help"], ["--help"], ["-h"]):
            sys.stdout.write(OVERVIEW)
        elif sys.argv[1:2] == ["serve"]:
            serve.run(sys.argv)  # Its child processes load the applications.
        else:
            with importing():
                django.setup()
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # One line names the setting and its fault; a trace would add nothing.
        sys.exit(f"ImproperlyConfigured: {error}")
    except Error as error:
        # A database fault is one line, too; --traceback shows the trace.
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"CommandError: {line_of(error)}")


if __name__ == "__main__":
    main()
