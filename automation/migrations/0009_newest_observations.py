"""Stores the newest observation of each host and agent, and since when reports of an agent wait."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0008_stored_days'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='observed',
            field=models.DateTimeField(help_text='The newest observation in its reports.', null=True),
        ),
        migrations.AddField(
            model_name='agent',
            name='waiting_observed',
            field=models.DateTimeField(help_text='The newest observation in its reports that said how many other reports wait.', null=True),
        ),
        migrations.AddField(
            model_name='agent',
            name='waiting_since',
            field=models.DateTimeField(help_text="When a report first said that other reports wait on the agent's disk. Empty if none wait.", null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='measured',
            field=models.DateTimeField(help_text='The newest sample of any of its metrics.', null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='observed',
            field=models.DateTimeField(help_text='The newest observation of its state. Older observations change nothing.', null=True),
        ),
    ]
