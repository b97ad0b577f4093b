"""Creates the table of paused plans. Without it, every plan runs on."""

import django.db.models.deletion
import opsapi.fields
import opsapi.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0001_squashed_0004_given_passwords'),
        ('automation', '0018_rollups'),
    ]

    operations = [
        migrations.CreateModel(
            name='PausedPlan',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('since', models.DateTimeField()),
                ('actor_kind', models.CharField(choices=[('key', 'key'), ('user', 'user'), ('agent', 'agent'), ('system', 'system')], max_length=6)),
                ('actor_id', opsapi.fields.OptionalIdField(db_collation='C', max_length=24, null=True)),
                ('actor_name', models.CharField(max_length=254, null=True)),
                ('group', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='paused_plan', to='accesslist.project', verbose_name='project')),
            ],
        ),
    ]
