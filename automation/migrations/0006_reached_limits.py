"""Remembers which limits of a project refused reports."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accesslist", "0004_given_passwords"),
        ("automation", "0005_no_index_of_agents_down"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReachedLimit",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("words", models.CharField(max_length=100)),
                ("most", models.BigIntegerField()),
                ("since", models.DateTimeField()),
                ("refused", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reached_limits",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("group", "words"), name="reached_limit_once")]
            },
        ),
    ]
