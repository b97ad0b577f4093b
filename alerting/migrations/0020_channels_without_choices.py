"""The registry in code alone lists the channels: a new channel needs no migration. Changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0019_pauses'),
    ]

    operations = [
        migrations.AlterField(
            model_name='notification',
            name='channel',
            field=models.CharField(help_text='How it goes out; none yet while it stands for people.', max_length=30, null=True),
        ),
        migrations.AlterField(
            model_name='notificationsetting',
            name='type_name',
            field=models.CharField(max_length=30, verbose_name='type'),
        ),
    ]
