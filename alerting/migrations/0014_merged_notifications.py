"""Stores into which notification with the same message a notification was merged."""

from django.db import migrations, models

import opsapi.fields


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0013_leased"),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="merged_into",
            field=opsapi.fields.OptionalIdField(
                help_text="The notification that sent the same message to the same address.",
            ),
        ),
    ]
