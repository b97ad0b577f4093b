"""Notifications removed from their configuration keep their row until no receiver needs them."""

import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0006_scope_indexes'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='notificationsetting',
            options={'base_manager_name': 'with_removed', 'ordering': ['config', 'position']},
        ),
        migrations.AlterModelManagers(
            name='notificationsetting',
            managers=[
                ('objects', django.db.models.manager.Manager()),
                ('with_removed', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='notificationsetting',
            name='removed',
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name='notificationsetting',
            index=models.Index(condition=models.Q(('removed', True)), fields=['config'], name='setting_removed'),
        ),
    ]
