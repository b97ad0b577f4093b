"""Maintenance windows."""

import django.contrib.postgres.fields
import django.db.models.deletion
import opsapi.fields
import opsapi.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_teams_and_deleted_projects'),
        ('alerting', '0002_global_configs'),
    ]

    operations = [
        migrations.CreateModel(
            name='MaintenanceWindow',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('alert_types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('AGENT', 'AGENT'), ('AUTOMATION_CONFIG', 'AUTOMATION_CONFIG'), ('BACKUP', 'BACKUP'), ('BI_CONNECTOR', 'BI_CONNECTOR'), ('CLUSTER', 'CLUSTER'), ('DATA_EXPLORER', 'DATA_EXPLORER'), ('HOST', 'HOST'), ('ORGANIZATION', 'ORGANIZATION'), ('GROUP', 'GROUP'), ('REPLICA_SET', 'REPLICA_SET'), ('TEAM', 'TEAM'), ('USER', 'USER')], max_length=30), size=None)),
                ('start', models.DateTimeField(help_text='Inclusive.')),
                ('end', models.DateTimeField(help_text='Exclusive.')),
                ('description', models.CharField(max_length=1000, null=True)),
                ('created', models.DateTimeField()),
                ('updated', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='maintenancewindow',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='maintenance_windows', to='accesslist.project'),
        ),
        migrations.AddIndex(
            model_name='maintenancewindow',
            index=models.Index(fields=['group', 'end'], name='window_group_end'),
        ),
        migrations.AddConstraint(
            model_name='maintenancewindow',
            constraint=models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='window_ends_later'),
        ),
    ]
