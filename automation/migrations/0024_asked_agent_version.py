"""Adds the version of the agent that a configuration asks for. Without it, only settings update agents."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0023_member_observations'),
    ]

    operations = [
        migrations.AddField(
            model_name='automationrevision',
            name='agent_version',
            field=models.CharField(db_default='', default='', help_text="The version of the platform's agent that the document asks for.", max_length=50),
        ),
    ]
