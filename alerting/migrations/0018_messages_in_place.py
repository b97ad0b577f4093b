"""Stores which message at a receiver later notifications about the same alert change."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0017_index_of_late_alerts"),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="handle",
            field=models.CharField(
                help_text="The name of the message at the receiver, which later messages about the alert change. "
        "Empty until it is known; null if its destination changes no messages.",
                max_length=200,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="in_place",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="It changed an earlier message about the alert.",
            ),
        ),
    ]
