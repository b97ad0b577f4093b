"""Lets agents report processes with names of up to 300 characters, as in the automation configuration."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0024_asked_agent_version'),
    ]

    operations = [
        migrations.AlterField(
            model_name='processstatus',
            name='name',
            field=models.CharField(max_length=300),
        ),
    ]
