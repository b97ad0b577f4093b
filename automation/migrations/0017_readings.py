"""Measurements become rows of numbers in a partition for each day.

The worker moves the existing measurements (`automation/old_measurements.py`).
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

_CREATE = [
    "CREATE SEQUENCE automation_reading_report AS smallint MINVALUE 0 CYCLE",
    """
    CREATE TABLE automation_reading (
        source_id integer NOT NULL,
        report smallint NOT NULL,
        age smallint NOT NULL,
        reported timestamp with time zone NOT NULL,
        numbers double precision[] NOT NULL
    ) PARTITION BY RANGE (reported)
    """,
    "CREATE INDEX reading_newest ON automation_reading (source_id, reported)",
    # For the first reports; the platform creates the other partitions.
    """
    DO $$ BEGIN
        FOR ahead IN -1..3 LOOP
            EXECUTE format(
                'CREATE TABLE automation_reading_%s PARTITION OF automation_reading FOR VALUES FROM (%L) TO (%L)',
                to_char((now() AT TIME ZONE 'UTC')::date + ahead, 'YYYYMMDD'),
                ((now() AT TIME ZONE 'UTC')::date + ahead)::timestamp AT TIME ZONE 'UTC',
                ((now() AT TIME ZONE 'UTC')::date + ahead + 1)::timestamp AT TIME ZONE 'UTC'
            );
        END LOOP;
    END $$
    """,
]
_DROP = ["DROP TABLE automation_reading", "DROP SEQUENCE automation_reading_report"]


class Migration(migrations.Migration):
    dependencies = [("automation", "0016_masked_documents")]

    operations = [
        migrations.CreateModel(
            name="Source",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                (
                    "database",
                    models.CharField(default="", help_text="Empty: the host itself.", max_length=200),
                ),
                (
                    "host",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="automation.host",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("host", "database"), name="source_once")]
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_CREATE, _DROP)],
            state_operations=[
                migrations.CreateModel(
                    name="Reading",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "source",
                                "reported",
                                "report",
                                "age",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("reported", models.DateTimeField()),
                        ("report", models.SmallIntegerField()),
                        (
                            "age",
                            models.SmallIntegerField(
                                help_text="Seconds from the measurement to `reported`, fractions of both cut."
                            ),
                        ),
                        (
                            "numbers",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.FloatField(null=True), size=None
                            ),
                        ),
                        (
                            "source",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="readings",
                                to="automation.source",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            models.Index(fields=["source", "reported"], name="reading_newest"),
                        ],
                    },
                ),
            ],
        ),
    ]
