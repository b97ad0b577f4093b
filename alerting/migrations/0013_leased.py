"""Stores when a lease began. Leases of long attempts are prolonged, so their end does not show their beginning.

Earlier versions do not write the column and do not prolong leases. Their leases began 30 s before their end.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0012_failing_loops"),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="leased",
            field=models.DateTimeField(
                help_text="When a worker leased the notification. The lease can be prolonged.", null=True
            ),
        ),
    ]
