"""Stores since when hosts are reachable and not measured, and whether that lasted for four minutes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0011_problems_of_hosts")]

    operations = [
        migrations.AddField(
            model_name="host",
            name="unmeasured_since",
            field=models.DateTimeField(
                help_text="The first of the newest observations that reached the host and did not measure it."
                " Empty if the newest observation measured the host or did not reach it.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="host",
            name="not_measured",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The host was reachable without a measurement for four minutes, and not measured"
                " since.",
            ),
        ),
    ]
