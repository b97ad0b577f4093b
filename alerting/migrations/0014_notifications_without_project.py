"""Global configurations notify of events without a project, and the log has no project for them."""

import django.db.models.deletion
from django.db import migrations, models

# The checks of what is deleted come before the column changes.
_FORGET = """
DELETE FROM alerting_notificationattempt WHERE notification_id IN
    (SELECT id FROM alerting_notification WHERE group_id IS NULL);
DELETE FROM alerting_notification WHERE group_id IS NULL;
SET CONSTRAINTS ALL IMMEDIATE
"""


class Migration(migrations.Migration):
    dependencies = [("alerting", "0013_words_for_people")]

    operations = [
        migrations.AlterField(
            model_name="notification",
            name="group",
            field=models.ForeignKey(
                help_text="None: a global configuration tells of what happened without a project.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notifications",
                to="accesslist.project",
                verbose_name="project",
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, _FORGET),
    ]
