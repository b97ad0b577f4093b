"""How far automation has brought each process, as agents report it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0004_measurement_retention'),
    ]

    operations = [
        migrations.CreateModel(
            name='ProcessStatus',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('hostname', models.CharField(max_length=253)),
                ('goal_version', models.PositiveIntegerField()),
                ('error', models.TextField(null=True)),
                ('reported', models.DateTimeField()),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='process_statuses', to='accesslist.project')),
            ],
            options={
                'verbose_name_plural': 'process statuses',
                'constraints': [models.UniqueConstraint(fields=('group', 'name'), name='process_status_once')],
            },
        ),
    ]
