"""Mark users who are created without a key; for older users this is unknown."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0008_look_alike_names'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='self_registered',
            field=models.BooleanField(db_default=False, default=False, help_text='Made without a key (endpoint 5).', verbose_name='registered itself'),
        ),
    ]
