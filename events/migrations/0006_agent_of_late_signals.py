"""Stores of which agent a late report is, so that only alerts about hosts of this agent wait for its signals."""

from django.db import migrations

import opsapi.fields


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0005_number_of_hosts_of_signals"),
    ]

    operations = [
        migrations.AddField(
            model_name="signal",
            name="agent_id",
            field=opsapi.fields.OptionalIdField(
                db_collation="C",
                help_text="ID of the agent whose late report this is. The signal can end only alerts about hosts of this agent and their replica sets. Empty: it can end any alert of the project.",
                max_length=24,
                null=True,
            ),
        ),
    ]
