"""Remembers since when clusters and replica sets have no hosts, so that they can be deleted later."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0006_reached_limits")]

    operations = [
        migrations.AddField(
            model_name=name,
            name="empty_since",
            field=models.DateTimeField(null=True, help_text=f"When the worker first found the {words} without hosts."),
        )
        for name, words in (("cluster", "cluster"), ("replicaset", "replica set"))
    ]
