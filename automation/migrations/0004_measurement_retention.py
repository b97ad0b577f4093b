"""Retention finds the oldest measurements; the index of the foreign key was one too many."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0003_deleted_hosts'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(fields=['reported'], name='measurement_oldest'),
        ),
        migrations.AlterField(
            model_name='measurement',
            name='host',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='measurements', to='automation.host'),
        ),
    ]
