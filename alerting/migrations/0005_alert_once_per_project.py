"""One active alert per configuration, project and target: a global configuration has targets in many."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0004_notification_channels'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='alert',
            name='alert_one_active',
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ['TRACKING', 'OPEN'])), fields=('config_id', 'group', 'target_key'), name='alert_one_active'),
        ),
    ]
