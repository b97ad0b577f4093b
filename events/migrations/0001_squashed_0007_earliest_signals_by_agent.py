"""The tables of events. Triggers count the events by scope, type and day, so that lists need not count them.

It creates in one step what the replaced migrations led to. A database that these migrations have created counts
as migrated.
"""

import django.db.models.functions.comparison
import django.db.models.lookups
from django.db import migrations, models

import opsapi.fields
import opsapi.ids

_FUNCTION = """
CREATE FUNCTION events_count_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events_eventcount (scope, event_type, day, number)
    SELECT scopes.scope, event_type, (created AT TIME ZONE 'UTC')::date,
           count(*) * CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END
      FROM changed CROSS JOIN LATERAL (VALUES (''), (group_id), (org_id)) AS scopes (scope)
     WHERE scopes.scope IS NOT NULL
     GROUP BY 1, 2, 3;
    RETURN NULL;
END $$
"""
_TRIGGER = """
CREATE TRIGGER events_count_{event} AFTER {event} ON events_event
REFERENCING {rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION events_count_changes()
"""


class Migration(migrations.Migration):
    replaces = [
        ("events", "0001_initial"),
        ("events", "0002_org_newest"),
        ("events", "0003_failed_signals"),
        ("events", "0004_event_searches"),
        ("events", "0005_signals_without_project"),
        ("events", "0006_plain_words"),
        ("events", "0007_event_counts"),
        ("events", "0008_count_events"),
        ("events", "0001_squashed_0008_count_events"),
        ("events", "0002_observed_signals"),
        ("events", "0003_earliest_signals"),
        ("events", "0004_retention"),
        ("events", "0001_squashed_0004_retention"),
        ("events", "0005_number_of_hosts_of_signals"),
        ("events", "0006_agent_of_late_signals"),
        ("events", "0007_earliest_signals_by_agent"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Event",
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
                ("created", models.DateTimeField()),
                ("event_type", models.CharField(db_collation="C", max_length=64)),
                ("group_id", opsapi.fields.OptionalIdField(db_collation="C", max_length=24, null=True)),
                ("org_id", opsapi.fields.OptionalIdField(db_collation="C", max_length=24, null=True)),
                ("alert_id", opsapi.fields.OptionalIdField(db_collation="C", max_length=24, null=True)),
                (
                    "details",
                    models.JSONField(help_text="The other fields of the event, with their API names."),
                ),
                ("diffs", models.JSONField(default=list)),
                ("raw", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["-created", "-id"],
                "indexes": [
                    models.Index(fields=["-created", "-id"], name="event_newest"),
                    models.Index(fields=["group_id", "-created", "-id"], name="event_group_newest"),
                    models.Index(fields=["event_type", "-created", "-id"], name="event_type_newest"),
                    models.Index(
                        condition=models.Q(("alert_id__isnull", False)),
                        fields=["alert_id"],
                        name="event_alert",
                    ),
                    models.Index(
                        condition=models.Q(("org_id__isnull", False)),
                        fields=["org_id", "-created", "-id"],
                        name="event_org_newest",
                    ),
                    models.Index(
                        fields=["group_id", "event_type", "-created"], name="event_group_type_newest"
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce(
                            opsapi.fields.JsonText("details", "username"),
                            opsapi.fields.JsonText("details", "publicKey"),
                        ),
                        models.OrderBy(models.F("created"), descending=True),
                        condition=models.Q(
                            django.db.models.lookups.IsNull(
                                django.db.models.functions.comparison.Coalesce(
                                    opsapi.fields.JsonText("details", "username"),
                                    opsapi.fields.JsonText("details", "publicKey"),
                                ),
                                False,
                            )
                        ),
                        name="event_who_newest",
                    ),
                    models.Index(
                        opsapi.fields.JsonText("details", "remoteAddress"),
                        models.OrderBy(models.F("created"), descending=True),
                        condition=models.Q(
                            django.db.models.lookups.IsNull(
                                opsapi.fields.JsonText("details", "remoteAddress"), False
                            )
                        ),
                        name="event_address_newest",
                    ),
                    models.Index(
                        opsapi.fields.JsonText("details", "hostname"),
                        models.OrderBy(models.F("created"), descending=True),
                        condition=models.Q(
                            django.db.models.lookups.IsNull(
                                opsapi.fields.JsonText("details", "hostname"), False
                            )
                        ),
                        name="event_hostname_newest",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Signal",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created", models.DateTimeField()),
                (
                    "group_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="Empty for events of an organization or the installation.",
                        max_length=24,
                        null=True,
                    ),
                ),
                ("kind", models.CharField(max_length=16)),
                ("payload", models.JSONField()),
                (
                    "failed",
                    models.DateTimeField(help_text="Evaluation failed; the signal was set aside.", null=True),
                ),
                (
                    "held_by",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="ID of the agent whose other reports wait. The signal is evaluated after them.",
                        max_length=24,
                        null=True,
                    ),
                ),
                (
                    "observed",
                    models.DateTimeField(
                        help_text="When the cause was observed, if this was before the signal was written.", null=True
                    ),
                ),
                (
                    "number_of_hosts",
                    models.PositiveSmallIntegerField(
                        help_text="The number of hosts in the payload, 1 for other signals. With it, a turn reads "
                        "only the payloads that it can evaluate.",
                        null=True,
                    ),
                ),
                (
                    "agent_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="ID of the agent whose late report this is. The signal can end only alerts about "
                        "hosts of this agent and their replica sets. Empty: it can end any alert of the project.",
                        max_length=24,
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("failed", None), ("held_by", None)),
                        fields=["group_id", "id"],
                        name="signal_group_order",
                    ),
                    models.Index(
                        condition=models.Q(("failed__isnull", False)), fields=["failed"], name="signal_failed"
                    ),
                    models.Index(
                        "held_by",
                        django.db.models.functions.comparison.Coalesce("observed", "created"),
                        condition=models.Q(("held_by__isnull", False)),
                        name="signal_held",
                    ),
                    models.Index(
                        "group_id",
                        django.db.models.functions.comparison.Coalesce("observed", "created"),
                        condition=models.Q(("failed", None), ("held_by", None)),
                        name="signal_group_earliest",
                    ),
                    models.Index(
                        "group_id",
                        django.db.models.functions.comparison.Coalesce("observed", "created"),
                        condition=models.Q(("agent_id", None), ("failed", None)),
                        name="signal_group_first",
                    ),
                    models.Index(
                        "agent_id",
                        django.db.models.functions.comparison.Coalesce("observed", "created"),
                        condition=models.Q(("agent_id__isnull", False), ("failed", None)),
                        name="signal_agent_first",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EventCount",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "scope",
                    models.CharField(
                        db_collation="C",
                        help_text="ID of a project or organization; empty: all events.",
                        max_length=24,
                    ),
                ),
                ("event_type", models.CharField(db_collation="C", max_length=64)),
                ("day", models.DateField()),
                ("number", models.BigIntegerField()),
                ("merged", models.BooleanField(db_default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["scope", "day"], include=("event_type", "number"), name="event_count_day"
                    ),
                    models.Index(
                        condition=models.Q(("merged", False)), fields=["id"], name="event_count_unmerged"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Retention",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("event_days", models.PositiveSmallIntegerField(help_text="0: forever.")),
                ("alert_days", models.PositiveSmallIntegerField(help_text="0: forever.")),
                ("updated", models.DateTimeField()),
                ("username", models.CharField(help_text="The user who chose it.", max_length=254)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="retention_once")
                ],
            },
        ),
        migrations.RunSQL([_FUNCTION], ["DROP FUNCTION events_count_changes"]),
        migrations.RunSQL(
            [_TRIGGER.format(event="INSERT", rows="NEW")],
            ["DROP TRIGGER events_count_insert ON events_event"],
        ),
        migrations.RunSQL(
            [_TRIGGER.format(event="DELETE", rows="OLD")],
            ["DROP TRIGGER events_count_delete ON events_event"],
        ),
    ]
