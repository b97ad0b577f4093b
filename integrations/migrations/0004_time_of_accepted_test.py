"""Adds when the service of an integration last accepted a test message."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("integrations", "0001_squashed_0003_channels_without_choices")]

    operations = [
        migrations.AddField(
            model_name="integration",
            name="tested",
            field=models.DateTimeField(
                help_text="When the service last accepted a test message with these credentials.",
                null=True,
            ),
        ),
    ]
