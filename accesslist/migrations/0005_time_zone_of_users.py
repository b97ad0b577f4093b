"""Adds the time zone of a user: empty for that of the browser."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accesslist", "0001_squashed_0004_given_passwords")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(
                db_default="",
                default="",
                help_text="The zone in which the console shows times. Empty: the zone of the browser.",
                max_length=64,
            ),
        ),
    ]
