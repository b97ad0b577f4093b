"""Adds when a failed move no longer stops its plan. Without it, a plan that stopped goes on at once."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0020_turns'),
    ]

    operations = [
        migrations.AddField(
            model_name='planturn',
            name='cleared',
            field=models.DateTimeField(help_text='When somebody resumed the plan, or published another document, after the move had failed.', null=True),
        ),
    ]
