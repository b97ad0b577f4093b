"""Counts the reachable members of replica sets whose role is unknown.

This is not part of 0014: a migration that waits for one table while it has locked another can deadlock with a request
that uses both.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0015_agent_updates")]

    operations = [
        migrations.AddField(
            model_name="replicaset",
            name="unknown",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Reachable members whose role is not known."
            ),
        ),
        migrations.AddField(
            model_name="replicaset",
            name="primary_unknown",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="There is no known primary, and NO_PRIMARY has not begun:"
                " an unknown member may be the primary.",
            ),
        ),
    ]
