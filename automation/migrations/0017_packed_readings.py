"""Creates the tables of packed measurements. The worker packs the days that are stored, one after the other.

Without these tables, packed measurements are lost.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0001_squashed_0016_unknown_members")]

    operations = [
        migrations.CreateModel(
            name="Packing",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "day", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("day", models.DateField()),
                ("number", models.SmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="PackedReadings",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "source", "day", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="packed",
                        to="automation.source",
                    ),
                ),
                ("day", models.DateField()),
                ("rows", models.IntegerField(help_text="Number of readings.")),
                ("number", models.SmallIntegerField()),
                (
                    "metrics",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.SmallIntegerField(),
                        help_text="The number of the metric of each part.",
                        size=None,
                    ),
                ),
                (
                    "ends",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="The end of each part in the block.",
                        size=None,
                    ),
                ),
                ("block", models.BinaryField()),
            ],
            options={
                "indexes": [models.Index(fields=["day", "number", "source"], name="packed_readings_day")]
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE automation_packedreadings ALTER block SET STORAGE EXTERNAL", migrations.RunSQL.noop
        ),
    ]
