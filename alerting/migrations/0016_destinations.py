"""Destinations: what fails, waits and is paced together, with the configuration that ends are sent with."""

import django.db.models.deletion
import opsapi.fields
from django.db import migrations, models

_SUBJECTS = """
UPDATE alerting_notification AS waiting SET subject = alert.target_key
  FROM alerting_alert AS alert
 WHERE waiting.status = 'PENDING' AND alert.id = waiting.alert_id
"""

# The column's default numbers rows as they lie on disk.
_IN_ORDER = """
UPDATE alerting_notification AS waiting SET sequence = ordered.number
  FROM (SELECT id, row_number() OVER (ORDER BY created, id) AS number
          FROM alerting_notification WHERE status = 'PENDING') AS ordered
 WHERE ordered.id = waiting.id
"""
# Of several ends for one receiver the version before keeps one.
_ONE_END = """
DELETE FROM alerting_notificationattempt AS attempt USING alerting_notification AS again
 WHERE attempt.notification_id = again.id AND again.kind IN ('alert.close', 'alert.cancel')
   AND EXISTS (SELECT FROM alerting_notification AS first
                WHERE (first.alert_id, first.setting_id, first.kind, first.channel, first.recipient)
                    = (again.alert_id, again.setting_id, again.kind, again.channel, again.recipient)
                  AND first.id < again.id);
DELETE FROM alerting_notification AS again
 WHERE kind IN ('alert.close', 'alert.cancel')
   AND EXISTS (SELECT FROM alerting_notification AS first
                WHERE (first.alert_id, first.setting_id, first.kind, first.channel, first.recipient)
                    = (again.alert_id, again.setting_id, again.kind, again.channel, again.recipient)
                  AND first.id < again.id)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accesslist", "0007_words_for_people"),
        ("alerting", "0015_time_of_attempts"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE alerting_notification_sequence",
            "DROP SEQUENCE alerting_notification_sequence",
        ),
        # Of receivers, which go with the next migration; another index has its name now.
        migrations.RemoveIndex(model_name="notification", name="notification_in_hand"),
        # The ids of ends are derived from content and recipient: the same end is never written twice.
        migrations.RemoveConstraint(model_name="notification", name="notification_one_end"),
        migrations.RunSQL(migrations.RunSQL.noop, _ONE_END),
        migrations.CreateModel(
            name="Destination",
            fields=[
                (
                    "id",
                    opsapi.fields.IdField(db_collation="C", max_length=24, primary_key=True, serialize=False),
                ),
                (
                    "group",
                    models.ForeignKey(
                        help_text="None: what happened without a project.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="destinations",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "is_global",
                    models.BooleanField(default=False, help_text="Named by a global configuration."),
                ),
                ("channel", models.CharField(max_length=30)),
                (
                    "recipient",
                    models.CharField(default="", help_text="Redacted where it is a secret.", max_length=300),
                ),
                (
                    "host",
                    models.CharField(
                        db_collation="C", default="", help_text="Scheme, name and port.", max_length=300
                    ),
                ),
                ("config", opsapi.fields.EncryptedField(null=True)),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Attempts in a row that failed."),
                ),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_error", models.CharField(max_length=300, null=True)),
                ("answered", models.DateTimeField(help_text="When it last took a message.", null=True)),
                ("tried", models.DateTimeField(help_text="When an attempt last began.", null=True)),
                ("next_try", models.DateTimeField(help_text="No attempt begins before.", null=True)),
                (
                    "pace_ms",
                    models.PositiveIntegerField(default=0, help_text="Least time between two attempts."),
                ),
                ("updated", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="UnreachableHost",
            fields=[
                (
                    "host",
                    models.CharField(db_collation="C", max_length=300, primary_key=True, serialize=False),
                ),
                (
                    "failures",
                    models.PositiveIntegerField(help_text="Connections in a row that could not be made."),
                ),
                ("since", models.DateTimeField()),
                ("next_try", models.DateTimeField(help_text="No connection is tried before.")),
            ],
        ),
        migrations.AddField(
            model_name="notification",
            name="destination",
            field=opsapi.fields.IdField(
                db_collation="C", default="", help_text="Where it goes; empty until it is due.", max_length=24
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="perhaps_received",
            field=models.BooleanField(
                default=False, help_text="It was sent, and no definite refusal came back."
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="sequence",
            field=models.BigIntegerField(
                db_default=models.Func(
                    models.Value("alerting_notification_sequence"),
                    function="nextval",
                    output_field=models.BigIntegerField(),
                ),
                help_text="The order in which it was said.",
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="subject",
            field=models.TextField(db_collation="C", default="", help_text="The target of its alert."),
        ),
        migrations.AddField(
            model_name="notification",
            name="worker",
            field=models.IntegerField(help_text="The presence of the worker that has it in hand.", null=True),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("destination", ""), ("lease_token", None), ("status", "PENDING")),
                fields=["due"],
                name="notification_undecided",
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("destination__gt", ""), ("lease_token", None), ("status", "PENDING")),
                fields=["destination", "due"],
                name="notification_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("destination__gt", ""), ("status", "PENDING")),
                fields=["destination", "subject", "sequence"],
                name="notification_order",
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("lease_token__isnull", False), ("status", "PENDING")),
                fields=["destination"],
                name="notification_in_hand",
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(fields=["-created", "-sequence"], name="notification_newest"),
        ),
        migrations.AddIndex(
            model_name="destination",
            index=models.Index(
                condition=models.Q(("failing_since__isnull", False)),
                fields=["-failing_since"],
                name="destination_failing",
            ),
        ),
        migrations.AddIndex(
            model_name="destination",
            index=models.Index(fields=["updated"], name="destination_updated"),
        ),
        migrations.AddIndex(
            model_name="destination",
            index=models.Index(fields=["host"], name="destination_host"),
        ),
        migrations.RunSQL(_SUBJECTS, migrations.RunSQL.noop),
        migrations.RunSQL(_IN_ORDER, migrations.RunSQL.noop),
    ]
