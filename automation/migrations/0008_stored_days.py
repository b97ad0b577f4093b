"""Remembers how much the reports of a project store in a day."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0007_empty_since")]

    operations = [
        migrations.CreateModel(
            name="StoredDay",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("octets", models.BigIntegerField()),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="stored_days",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("group", "day"), name="stored_day_once")]
            },
        ),
    ]
