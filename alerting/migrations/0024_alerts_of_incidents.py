from django.db import migrations, models


class Migration(migrations.Migration):
    """By itself: adding the column locks alerts for everybody, which must not last as long as the index takes."""

    dependencies = [
        ('alerting', '0023_grouped_notifications'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('incident_id__isnull', False)), fields=['incident_id', 'status'], name='alert_incident'),
        ),
    ]
