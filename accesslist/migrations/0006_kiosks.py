"""Adds kiosks: addresses that show a project or an organization without a log-in."""

import django.db.models.deletion
import opsapi.fields
import opsapi.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0005_time_zone_of_users'),
    ]

    operations = [
        migrations.CreateModel(
            name='Kiosk',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('desc', models.CharField(max_length=250, verbose_name='description')),
                ('token_hash', models.CharField(editable=False, max_length=64)),
                ('created', models.DateTimeField()),
                ('expires', models.DateTimeField(verbose_name='valid until')),
                ('creator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kiosks', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('org', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='kiosks', to='accesslist.organization', verbose_name='organization')),
                ('project', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='kiosks', to='accesslist.project')),
            ],
            options={
                'indexes': [models.Index(fields=['expires'], name='kiosk_expires')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('org__isnull', False), ('project', None)), models.Q(('org', None), ('project__isnull', False)), _connector='OR'), name='kiosk_has_one_scope')],
            },
        ),
    ]
