"""Global configurations are found by what they cover, however many cover something else."""

import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0005_alert_once_per_project'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='alertconfig',
            name='config_global_concerned',
        ),
        migrations.AddIndex(
            model_name='alertconfig',
            index=models.Index(condition=models.Q(('deleted', None), ('enabled', True), ('for_all_groups', True), ('tags', [])), fields=['event_type'], name='config_everywhere'),
        ),
        migrations.AddIndex(
            model_name='alertconfig',
            index=django.contrib.postgres.indexes.GinIndex(condition=models.Q(('deleted', None), ('enabled', True), ('group', None)), fastupdate=False, fields=['group_ids', 'tags'], name='config_of_some'),
        ),
    ]
