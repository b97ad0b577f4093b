"""The number of events by scope, type and day: lists say how many events there are without counting them."""

from django.db import migrations, models

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
    dependencies = [
        ("events", "0006_plain_words"),
    ]

    operations = [
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
        migrations.RunSQL([_FUNCTION], ["DROP FUNCTION events_count_changes"]),
        migrations.RunSQL(
            [_TRIGGER.format(event="INSERT", rows="NEW")], ["DROP TRIGGER events_count_insert ON events_event"]
        ),
        migrations.RunSQL(
            [_TRIGGER.format(event="DELETE", rows="OLD")], ["DROP TRIGGER events_count_delete ON events_event"]
        ),
    ]
