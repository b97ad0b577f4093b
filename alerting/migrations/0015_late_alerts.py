"""Marks alerts that began or ended in late reports."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_given_passwords'),
        ('alerting', '0014_merged_notifications'),
    ]

    operations = [
        migrations.AddField(
            model_name='alert',
            name='late',
            field=models.BooleanField(db_default=False, default=False, help_text='The alert began in a late report. It opens when no other report waits. If it has ended by then, it is deleted.'),
        ),
        migrations.AddField(
            model_name='alert',
            name='over',
            field=models.DateTimeField(help_text='When the condition ended according to a late report. The alert closes unless a newer report shows the condition.', null=True),
        ),
    ]
