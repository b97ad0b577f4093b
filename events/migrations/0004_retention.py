"""Stores the chosen retention of events and ended alerts."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0003_earliest_signals"),
    ]

    operations = [
        migrations.CreateModel(
            name="Retention",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("event_days", models.PositiveSmallIntegerField(help_text="0: forever.")),
                ("alert_days", models.PositiveSmallIntegerField(help_text="0: forever.")),
                ("updated", models.DateTimeField()),
                ("username", models.CharField(help_text="The user who chose it.", max_length=254)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="retention_once")],
            },
        ),
    ]
