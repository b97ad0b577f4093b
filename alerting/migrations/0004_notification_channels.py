"""By which channel a notification goes, every attempt, and the window that holds it back."""

import django.db.models.deletion
import opsapi.fields
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F


def name_channels(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Until now every notification went out by the channel of its type."""
    apps.get_model("alerting", "Notification").objects.filter(channel=None).update(channel=F("type_name"))


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0003_maintenance_windows'),
    ]

    operations = [
        migrations.CreateModel(
            name='NotificationAttempt',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('ended', models.DateTimeField()),
                ('status', models.CharField(choices=[('delivered', 'delivered'), ('retry', 'retry'), ('failed', 'failed')], max_length=10)),
                ('reason', models.CharField(max_length=300, null=True)),
                ('latency_ms', models.PositiveIntegerField()),
            ],
            options={
                'ordering': ['notification', 'number'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='notification',
            name='notification_one_end',
        ),
        migrations.AddField(
            model_name='notification',
            name='channel',
            field=models.CharField(choices=[('EMAIL', 'EMAIL'), ('SMS', 'SMS'), ('PAGER_SERVICE', 'PAGER_SERVICE'), ('CHAT_SERVICE', 'CHAT_SERVICE'), ('GROUP_CHAT_SERVICE', 'GROUP_CHAT_SERVICE'), ('METRICS_SERVICE', 'METRICS_SERVICE'), ('OPS_ALERT_SERVICE', 'OPS_ALERT_SERVICE'), ('ON_CALL_SERVICE', 'ON_CALL_SERVICE'), ('WEBHOOK', 'WEBHOOK'), ('TEAM_CHAT_SERVICE', 'TEAM_CHAT_SERVICE')], help_text='How it goes out; none yet while it stands for people.', max_length=30, null=True),
        ),
        migrations.RunPython(name_channels, migrations.RunPython.noop),
        migrations.AddField(
            model_name='notification',
            name='silenced_by',
            field=opsapi.fields.OptionalIdField(db_collation='C', help_text='The maintenance window that holds it back.', max_length=24, null=True),
        ),
        migrations.AlterField(
            model_name='notificationsetting',
            name='type_name',
            field=models.CharField(choices=[('ADMIN', 'ADMIN'), ('GROUP', 'GROUP'), ('ORG', 'ORG'), ('USER', 'USER'), ('TEAM', 'TEAM'), ('EMAIL', 'EMAIL'), ('SMS', 'SMS'), ('PAGER_SERVICE', 'PAGER_SERVICE'), ('CHAT_SERVICE', 'CHAT_SERVICE'), ('GROUP_CHAT_SERVICE', 'GROUP_CHAT_SERVICE'), ('METRICS_SERVICE', 'METRICS_SERVICE'), ('OPS_ALERT_SERVICE', 'OPS_ALERT_SERVICE'), ('ON_CALL_SERVICE', 'ON_CALL_SERVICE'), ('WEBHOOK', 'WEBHOOK'), ('TEAM_CHAT_SERVICE', 'TEAM_CHAT_SERVICE')], max_length=30),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(condition=models.Q(('silenced_by__isnull', False)), fields=['group'], name='notification_silenced'),
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(condition=models.Q(('event_id__isnull', False)), fields=['event_id'], name='notification_event'),
        ),
        migrations.AddConstraint(
            model_name='notification',
            constraint=models.UniqueConstraint(condition=models.Q(('kind__in', ['alert.close', 'alert.cancel'])), fields=('alert', 'setting_id', 'kind', 'channel', 'recipient'), name='notification_one_end'),
        ),
        migrations.AddField(
            model_name='notificationattempt',
            name='notification',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tries', to='alerting.notification'),
        ),
    ]
