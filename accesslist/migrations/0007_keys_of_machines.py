"""Adds the names of the machine that the key of an agent is for: null for each machine of the project."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accesslist", "0006_kiosks")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="hostnames",
            field=ArrayField(
                base_field=models.CharField(max_length=253),
                help_text="The names of the machine of an agent, in lower case. The key is for no other machine.",
                null=True,
                size=None,
            ),
        ),
    ]
