"""A claim reads the first notifications without a destination of each project, however many wait."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0006_time_of_projects"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("destination", ""), ("lease_token", None), ("status", "PENDING")),
                fields=["group", "due"],
                name="notification_undecided_next",
            ),
        ),
    ]
