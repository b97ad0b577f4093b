"""When each project's signals were last evaluated, so that projects take turns."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0017_no_receivers")]

    operations = [
        migrations.CreateModel(
            name="EvaluationTurn",
            fields=[
                (
                    "group_id",
                    models.CharField(db_collation="C", max_length=24, primary_key=True, serialize=False),
                ),
                ("served", models.DateTimeField()),
            ],
        ),
    ]
