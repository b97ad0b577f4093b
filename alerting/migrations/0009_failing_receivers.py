"""Store failing receivers, and how many messages each worker sends, so that they delay no others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0008_ended_alerts")]

    operations = [
        migrations.CreateModel(
            name="FailingReceiver",
            fields=[
                (
                    "key",
                    models.CharField(db_collation="C", max_length=400, primary_key=True, serialize=False),
                ),
                ("failures", models.PositiveIntegerField(help_text="Attempts in a row.")),
                ("next_try", models.DateTimeField(help_text="It is not tried before.")),
                ("updated", models.DateTimeField()),
            ],
        ),
        migrations.AddIndex(
            model_name="failingreceiver",
            index=models.Index(fields=["updated"], name="failing_receiver_updated"),
        ),
        migrations.AddField(
            model_name="notification",
            name="receiver",
            field=models.CharField(
                db_collation="C",
                default="",
                help_text="The key of what fails together; people have none.",
                max_length=400,
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("lease_until__isnull", False), ("status", "PENDING")),
                fields=["receiver"],
                name="notification_in_hand",
            ),
        ),
    ]
