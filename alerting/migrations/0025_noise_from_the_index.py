"""An index from which the noise of a configuration is counted."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0024_alerts_of_incidents")]

    operations = [
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                fields=["config_id", "-created", "-id"],
                include=("status", "resolved", "opens", "acknowledged_until", "group", "target_key"),
                name="alert_config_noise",
            ),
        ),
    ]
