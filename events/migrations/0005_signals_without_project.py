"""What happens to an organization or to the installation is looked at too."""

from django.db import migrations

from opsapi.fields import OptionalIdField

# Also signals of projects: with the earlier code, global configurations would notify of them again.
_FORGET = "DELETE FROM events_signal WHERE group_id IS NULL OR payload ? 'orgId'"


class Migration(migrations.Migration):
    dependencies = [("events", "0004_event_searches")]

    operations = [
        migrations.AlterField(
            model_name="signal",
            name="group_id",
            field=OptionalIdField(
                db_collation="C",
                help_text="None: it happened to an organization or to the installation.",
                max_length=24,
                null=True,
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, _FORGET),
    ]
