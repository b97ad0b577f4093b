"""Configurations without a project, and the alerts they raise."""

import django.contrib.postgres.fields
import django.db.models.deletion
import opsapi.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_teams_and_deleted_projects'),
        ('alerting', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='alert',
            name='is_global',
            field=models.BooleanField(default=False, help_text='Of a global configuration.'),
        ),
        migrations.AddField(
            model_name='alertconfig',
            name='for_all_groups',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='alertconfig',
            name='group_ids',
            field=django.contrib.postgres.fields.ArrayField(base_field=opsapi.fields.IdField(db_collation='C', max_length=24), default=list, size=None),
        ),
        migrations.AddField(
            model_name='alertconfig',
            name='tags',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None),
        ),
        migrations.AlterField(
            model_name='alertconfig',
            name='group',
            field=models.ForeignKey(help_text='None: global.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alert_configs', to='accesslist.project'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('is_global', True)), fields=['-created', '-id'], name='alert_global_newest'),
        ),
        migrations.AddIndex(
            model_name='alertconfig',
            index=models.Index(condition=models.Q(('deleted', None), ('enabled', True), ('group', None)), fields=['event_type'], name='config_global_concerned'),
        ),
        migrations.AddIndex(
            model_name='alertconfig',
            index=models.Index(condition=models.Q(('deleted', None), ('group', None)), fields=['created', 'id'], name='config_global_created'),
        ),
        migrations.AddConstraint(
            model_name='alertconfig',
            constraint=models.CheckConstraint(condition=models.Q(('group', None), models.Q(('for_all_groups', False), ('group_ids', []), ('tags', [])), _connector='OR'), name='config_scope'),
        ),
    ]
