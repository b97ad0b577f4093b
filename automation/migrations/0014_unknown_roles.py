"""Stores which reachable hosts have an unknown type."""

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
    ]
