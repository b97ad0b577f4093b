"""The events of an organization, newest first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("events", "0001_initial")]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                fields=["org_id", "-created", "-id"],
                name="event_org_newest",
                condition=models.Q(("org_id__isnull", False)),
            ),
        ),
    ]
