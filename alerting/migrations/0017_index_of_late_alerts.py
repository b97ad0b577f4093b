"""Adds the index of alerts that are over without the stronger lock that their new column needs."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0016_index_of_merged"),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('over__isnull', False)), fields=['over'], name='alert_over'),
        ),
    ]
