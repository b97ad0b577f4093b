from django.db import migrations, models


class Migration(migrations.Migration):
    """Separate from the new column, which locks alerts: the lock must not last while the index is built."""

    dependencies = [
        ('alerting', '0023_grouped_notifications'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('incident_id__isnull', False)), fields=['incident_id', 'status'], name='alert_incident'),
        ),
    ]
