from datetime import timedelta

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0007_undecided_by_project"),
    ]

    operations = [
        migrations.AddField(
            model_name="workerheartbeat",
            name="clock_ahead",
            field=models.DurationField(
                db_default=timedelta(0),
                default=timedelta(0),
                help_text="How far the clock of its machine is ahead of the database's.",
            ),
        ),
    ]
