"""Fills an installation with projects for a simulated fleet. Needs a Django that is set up: see `scene`."""

import json
import sys

from django.db import connection

from accesslist.models import Project
from opsapi.roles import Role
from opsapi.sql import execute
from tests.benchmarks.fill import make_configs
from tests.factories.accesslist import ProjectFactory, make_key

# No threshold is crossed, so nothing decrypts the copied address of the receiver.
_COPY_CONFIGS = """
INSERT INTO alerting_alertconfig ({columns})
SELECT {values} FROM alerting_alertconfig WHERE group_id = %(of)s
"""
_COPY_NOTIFICATIONS = """
INSERT INTO alerting_notificationsetting ({columns})
SELECT {values} FROM alerting_notificationsetting
 WHERE config_id IN (SELECT id FROM alerting_alertconfig WHERE group_id = %(of)s)
"""
_NEW_ID = "substr(md5({column} || %(to)s), 1, 24)"


def main() -> None:
    """Takes numbers of projects and of configurations, and writes the ids and a key to stdout, as JSON."""
    projects, configs = (int(argument) for argument in sys.argv[1:])
    made = [ProjectFactory.create() for _ in range(projects)]
    make_configs(made[0], configs, "http://127.0.0.1:9/")
    for project in made[1:]:
        _copy_configs(made[0], project)
    execute("VACUUM ANALYZE")
    key = make_key(Role.GLOBAL_OWNER)
    groups = [project.id for project in made]
    sys.stdout.write(json.dumps({"groups": groups, "key": [key.public_key, key.private_key]}))


def _copy_configs(template: Project, project: Project) -> None:
    of_config = {"id": _NEW_ID.format(column="id"), "group_id": "%(to)s"}
    of_notification = {"id": _NEW_ID.format(column="id"), "config_id": _NEW_ID.format(column="config_id")}
    values = {"of": template.id, "to": project.id}
    with connection.cursor() as cursor:
        for table, statement, changed in (
            ("alerting_alertconfig", _COPY_CONFIGS, of_config),
            ("alerting_notificationsetting", _COPY_NOTIFICATIONS, of_notification),
        ):
            columns = [
                column.name for column in connection.introspection.get_table_description(cursor, table)
            ]
            chosen = ", ".join(changed.get(name, f'"{name}"') for name in columns)
            names = ", ".join(f'"{name}"' for name in columns)
            cursor.execute(statement.format(columns=names, values=chosen), values)
