"""Signals that were set aside are found when their time is over."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("events", "0002_org_newest")]

    operations = [
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                fields=["failed"], name="signal_failed", condition=models.Q(("failed__isnull", False))
            ),
        ),
    ]
