from django.db import migrations, models


class Migration(migrations.Migration):
    """The new index is built before the old index is removed, so that alerts are always found quickly."""

    dependencies = [
        ('alerting', '0024_alerts_of_incidents'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['config_id', '-created', '-id'], include=('status', 'resolved', 'opens', 'acknowledged_until', 'group', 'target_key'), name='alert_config_noise'),
        ),
        migrations.RemoveIndex(
            model_name='alert',
            name='alert_config_newest',
        ),
    ]
