"""Hosts that are deleted and still have measurements: their address is free at once."""

import django.db.models.functions.text
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0002_clusters'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='host',
            options={'base_manager_name': 'with_deleted'},
        ),
        migrations.AlterModelManagers(
            name='host',
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('with_deleted', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='host',
            name='deleted',
            field=models.DateTimeField(null=True),
        ),
        migrations.RemoveConstraint(
            model_name='host',
            name='host_once',
        ),
        migrations.AddConstraint(
            model_name='host',
            constraint=models.UniqueConstraint(models.F('group'), django.db.models.functions.text.Lower('hostname'), models.F('port'), condition=models.Q(('deleted', None)), name='host_once'),
        ),
        migrations.AddIndex(
            model_name='host',
            index=models.Index(condition=models.Q(('deleted__isnull', False)), fields=['deleted'], name='host_deleted'),
        ),
    ]
