from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0009_self_registered'),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='revocations',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name='user',
            name='revocations',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
    ]
