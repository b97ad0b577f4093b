"""Stores why agents could not measure hosts that are reachable."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0010_guessed_types")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="problem",
            field=models.TextField(
                help_text="Why the agent could not measure the host, although it is reachable.", null=True
            ),
        ),
    ]
