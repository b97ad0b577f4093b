"""Adds the other hosts of the process of a turn. Without it, alerts of these hosts notify during a move."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0025_longer_process_names")]

    operations = [
        migrations.AddField(
            model_name="planturn",
            name="other_host_ids",
            field=models.JSONField(
                null=True,
                help_text="Other hosts of the process: it can be reported at its alias and at its host name.",
            ),
        ),
    ]
