"""Marks alerts that began or ended in reports that came late."""

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
            field=models.BooleanField(db_default=False, default=False, help_text='It began in a report that came late, so it opens when no newer report waits any more. If it has ended by then, it is deleted.'),
        ),
        migrations.AddField(
            model_name='alert',
            name='over',
            field=models.DateTimeField(help_text='When its condition ended, by a report that came late. It ends if no newer report differs.', null=True),
        ),
    ]
