"""The log names the notification that another notification with the same message was merged into."""

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
