"""Stores which reachable hosts have an unknown type, and counts them in their replica sets."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0013_agent_settings")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="type_unknown",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The newest observation reached the host and did not see its type."
                " The stored type may be old.",
            ),
        ),
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
