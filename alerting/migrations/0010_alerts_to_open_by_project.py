"""The search for alerts to open reads the first of each project, however many are due."""

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
