"""When a lease began: its end no longer says so, because the leases of long attempts are prolonged.

Versions before do not write the column, and never prolong a lease: then the lease began 30 s before its end.
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
                help_text="When a worker leased it; its lease may be prolonged.", null=True
            ),
        ),
    ]
