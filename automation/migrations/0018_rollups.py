"""Creates the tables of rollups. The worker computes the rollups of the days that are packed already.

Without these tables, rollups are lost.
"""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0017_packed_readings")]

    operations = [
        migrations.CreateModel(
            name="Rollup",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "minutes",
                        "day",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("minutes", models.SmallIntegerField(help_text="Length of a bucket.")),
                ("day", models.DateField()),
                ("number", models.SmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="PackedRollups",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source",
                        "minutes",
                        "day",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="rollups",
                        to="automation.source",
                    ),
                ),
                ("day", models.DateField()),
                ("minutes", models.SmallIntegerField(help_text="Length of a bucket.")),
                ("number", models.SmallIntegerField()),
                ("block", models.BinaryField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["minutes", "day", "number", "source"], name="packed_rollups_day")
                ]
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE automation_packedrollups ALTER block SET STORAGE EXTERNAL", migrations.RunSQL.noop
        ),
    ]
