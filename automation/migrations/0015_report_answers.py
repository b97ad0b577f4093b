from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("automation", "0014_redact_old_diffs"),
    ]

    operations = [
        migrations.CreateModel(
            name='ReportAnswer',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('body', models.CharField(db_collation='C', max_length=64)),
                ('answer', models.TextField()),
                ('created', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['created'], name='report_answer_oldest')],
            },
        ),
    ]
