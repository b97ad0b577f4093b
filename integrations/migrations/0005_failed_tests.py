"""Adds when and why the last test message of an integration was not accepted."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("integrations", "0004_time_of_accepted_test")]

    operations = [
        migrations.AddField(
            model_name="integration",
            name="test_failed",
            field=models.DateTimeField(
                help_text="When the last test message with these credentials was not accepted.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="integration",
            name="test_error",
            field=models.TextField(help_text="Why it was not accepted.", null=True),
        ),
    ]
