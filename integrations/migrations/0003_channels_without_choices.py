"""The registry in code alone lists the channels: a new channel needs no migration. Changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('integrations', '0002_words_for_people'),
    ]

    operations = [
        migrations.AlterField(
            model_name='integration',
            name='type',
            field=models.CharField(max_length=30),
        ),
    ]
