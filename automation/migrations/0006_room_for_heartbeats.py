"""Leaves room in the pages of agents and hosts, so that the updates of reports touch no index.

Measured with 500 hosts and 30 reports: 27 % of the updates were HOT with full pages, 93 % with a fillfactor of
70, and 97 % with a fillfactor of 50, which leaves room for a complete report.
"""

from django.db import migrations

TABLES = ("automation_host", "automation_agent")


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0005_process_statuses'),
    ]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} SET (fillfactor = 50)", f"ALTER TABLE {table} RESET (fillfactor)"
        )
        for table in TABLES
    ]
