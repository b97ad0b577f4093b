"""Stores why an agent did not take the platform's version."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0014_unknown_roles")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="update_problem",
            field=models.TextField(
                help_text="Why the agent did not update itself, although the settings of the project say so.",
                null=True,
            ),
        ),
    ]
