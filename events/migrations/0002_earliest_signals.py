"""The search for alerts to open reads the earliest signal of each project, however many wait."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0001_squashed_0008_count_events"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                condition=models.Q(("failed", None)),
                fields=["group_id", "created"],
                name="signal_group_earliest",
            ),
        ),
    ]
