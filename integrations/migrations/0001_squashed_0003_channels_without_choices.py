"""The table of integrations.

It creates in one step what the replaced migrations led to. A database that these migrations have created counts
as migrated.
"""

import django.db.models.deletion
from django.db import migrations, models

import opsapi.fields
import opsapi.ids


class Migration(migrations.Migration):
    replaces = [
        ("integrations", "0001_initial"),
        ("integrations", "0002_words_for_people"),
        ("integrations", "0003_channels_without_choices"),
    ]

    dependencies = [
        ("accesslist", "0001_squashed_0004_given_passwords"),
    ]

    operations = [
        migrations.CreateModel(
            name="Integration",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("type", models.CharField(max_length=30)),
                ("fields", models.JSONField(default=dict)),
                ("secrets", opsapi.fields.EncryptedField(null=True)),
                ("created", models.DateTimeField()),
                ("updated", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="integrations",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("group", "type"), name="integration_once")],
            },
        ),
    ]
