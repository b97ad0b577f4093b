"""Adds an index from which the search for alerts to open reads the first alerts of each project."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0009_no_index_of_undecided"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=models.Q(("status", "TRACKING")),
                fields=["group", "opens"],
                name="alert_opens_next",
            ),
        ),
    ]
