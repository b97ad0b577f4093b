"""Alerts are found over the whole installation: by time, state, type, configuration and target."""

from django.db import migrations, models
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, Collate, Lower

_TARGET = Collate(
    Lower(Coalesce(KT("facts__hostname"), KT("facts__replicaSetName"), KT("facts__clusterName"))), "C"
)


class Migration(migrations.Migration):
    dependencies = [("alerting", "0011_overview")]

    operations = [
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["-created", "-id"], name="alert_newest"),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["status", "-created", "-id"], name="alert_status_newest"),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["event_type", "-created", "-id"], name="alert_type_newest"),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["config_id", "-created", "-id"], name="alert_config_newest"),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(_TARGET, name="alert_target_name"),
        ),
    ]
