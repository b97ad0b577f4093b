"""Which hosts and agents run a version others of their project are ahead of."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0008_replica_sets'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='version_behind',
            field=models.BooleanField(default=False, help_text='Another agent of its type in the project has a higher version.'),
        ),
        migrations.AddField(
            model_name='host',
            name='version_behind',
            field=models.BooleanField(default=False, help_text='Another host of the project has a higher version of the same series.'),
        ),
    ]
