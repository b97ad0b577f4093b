"""Says the categories of windows in words, and their help texts in sentences. Does not change the database."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0001_squashed_0026_one_index_of_configs'),
    ]

    operations = [
        migrations.AlterField(
            model_name='maintenancewindow',
            name='alert_types',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('AGENT', 'Agent'), ('AUTOMATION_CONFIG', 'Automation configuration'), ('BACKUP', 'Backup'), ('BI_CONNECTOR', 'BI connector'), ('CLUSTER', 'Cluster'), ('DATA_EXPLORER', 'Data explorer'), ('HOST', 'Host'), ('ORGANIZATION', 'Organization'), ('GROUP', 'Project'), ('REPLICA_SET', 'Replica set'), ('TEAM', 'Team'), ('USER', 'User')], max_length=30), size=None),
        ),
        migrations.AlterField(
            model_name='maintenancewindow',
            name='end',
            field=models.DateTimeField(help_text='Notifications are sent again from this time, the end of the first occurrence if it repeats.'),
        ),
        migrations.AlterField(
            model_name='maintenancewindow',
            name='start',
            field=models.DateTimeField(help_text='Notifications are muted from this time, the start of the first occurrence if it repeats.'),
        ),
    ]
