"""Stores how many hosts a signal has, so that a turn does not read the payloads of all signals that wait."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0001_squashed_0004_retention"),
    ]

    operations = [
        migrations.AddField(
            model_name="signal",
            name="number_of_hosts",
            field=models.PositiveSmallIntegerField(
                help_text="The number of hosts in the payload, 1 for other signals. With it, a turn reads only the payloads that it can evaluate.",
                null=True,
            ),
        ),
    ]
