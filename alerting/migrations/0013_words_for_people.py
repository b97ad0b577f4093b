"""What the console calls them: project, type, worker, process. Changes no table."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0007_words_for_people'),
        ('alerting', '0012_alert_search'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='alertconfig',
            options={'verbose_name': 'alert configuration'},
        ),
        migrations.AlterModelOptions(
            name='workerheartbeat',
            options={'verbose_name': 'worker'},
        ),
        migrations.AlterField(
            model_name='alert',
            name='event_type',
            field=models.CharField(max_length=64, verbose_name='type'),
        ),
        migrations.AlterField(
            model_name='alert',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='alertconfig',
            name='event_type',
            field=models.CharField(max_length=64, verbose_name='type'),
        ),
        migrations.AlterField(
            model_name='alertconfig',
            name='group',
            field=models.ForeignKey(help_text='None: global.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alert_configs', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='maintenancewindow',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='maintenance_windows', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='type_name',
            field=models.CharField(max_length=30, verbose_name='type'),
        ),
        migrations.AlterField(
            model_name='notificationsetting',
            name='type_name',
            field=models.CharField(choices=[('ADMIN', 'ADMIN'), ('GROUP', 'GROUP'), ('ORG', 'ORG'), ('USER', 'USER'), ('TEAM', 'TEAM'), ('EMAIL', 'EMAIL'), ('SMS', 'SMS'), ('PAGER_SERVICE', 'PAGER_SERVICE'), ('CHAT_SERVICE', 'CHAT_SERVICE'), ('GROUP_CHAT_SERVICE', 'GROUP_CHAT_SERVICE'), ('METRICS_SERVICE', 'METRICS_SERVICE'), ('OPS_ALERT_SERVICE', 'OPS_ALERT_SERVICE'), ('ON_CALL_SERVICE', 'ON_CALL_SERVICE'), ('WEBHOOK', 'WEBHOOK'), ('TEAM_CHAT_SERVICE', 'TEAM_CHAT_SERVICE')], max_length=30, verbose_name='type'),
        ),
    ]
