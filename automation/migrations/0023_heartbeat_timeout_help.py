"""Help texts of an agent use the word of the glossary: heartbeat timeout."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0022_hosts_with_labels'),
    ]

    operations = [
        migrations.AlterField(
            model_name='agent',
            name='down',
            field=models.BooleanField(default=False, help_text='The agent has a heartbeat timeout.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='returned',
            field=models.DateTimeField(help_text='When the agent last reported again after a heartbeat timeout.', null=True),
        ),
    ]
