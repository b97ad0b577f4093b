"""Counts the alerts, messages and changes of a project and day, next to its reports."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0026_other_hosts_of_turns")]

    operations = [
        *(
            migrations.AddField(
                model_name="storedday",
                name=name,
                field=models.BigIntegerField(db_default=0, default=0),
            )
            for name in ("alert_octets", "message_octets", "change_octets")
        ),
        migrations.AlterField(
            model_name="storedday",
            name="octets",
            field=models.BigIntegerField(help_text="Of reports, turns and publications."),
        ),
    ]
