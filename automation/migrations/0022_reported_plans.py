"""Adds the plans that agents report. Without it, the status shows only plans of the platform."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0021_stopped_plans'),
    ]

    operations = [
        migrations.AddField(
            model_name='processstatus',
            name='plan',
            field=models.JSONField(help_text='Its moves and why they wait, as its agent reports them.', null=True),
        ),
    ]
