from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0003_setup_marks"),
    ]

    operations = [
        migrations.AddField(
            model_name="workerheartbeat",
            name="stuck_loop",
            field=models.CharField(
                db_default="",
                default="",
                help_text="The last stuck loop, for which the worker ended.",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="workerheartbeat",
            name="stuck",
            field=models.DateTimeField(help_text="When the worker ended because of this loop.", null=True),
        ),
    ]
