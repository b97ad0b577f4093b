"""Every report changes the rows of its agent and hosts: with room left in their pages no index is touched.

Measured with 500 hosts and 30 reports: of the updates 27 % were HOT with full pages, 93 % with a
fillfactor of 70, 97 % with one of 50, with which a whole report fits beside what it replaces.
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
