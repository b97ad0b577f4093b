"""The automation configuration of each project, every published version of it."""

import django.db.models.deletion
from django.db import migrations, models

import opsapi.fields
import opsapi.ids


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_teams_and_deleted_projects'),
        ('automation', '0009_versions_behind'),
    ]

    operations = [
        migrations.CreateModel(
            name='AutomationRevision',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(help_text="The document's version.")),
                ('document', opsapi.fields.EncryptedField()),
                ('processes', models.JSONField(default=list, help_text='Name and hostname of each process.')),
                ('diffs', models.JSONField(default=list, help_text='What it changed in each process, secrets redacted.')),
                ('changes', models.JSONField(default=dict, help_text='How many processes it changed, by status.')),
                ('restored_from', models.PositiveIntegerField(help_text='The revision it repeats.', null=True)),
                ('actor_kind', models.CharField(choices=[('key', 'key'), ('user', 'user'), ('agent', 'agent'), ('system', 'system')], max_length=6)),
                ('actor_id', opsapi.fields.OptionalIdField(db_collation='C', max_length=24, null=True)),
                ('actor_name', models.CharField(max_length=254, null=True)),
                ('created', models.DateTimeField()),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='automation_revisions', to='accesslist.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('group', 'number'), name='automation_revision_once')],
            },
        ),
    ]
