"""Marks hosts that were never reached, whose type their agent assumes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0001_squashed_0009_newest_observations")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="type_guessed",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The host was never reached: its agent assumes the type.",
            ),
        ),
    ]
