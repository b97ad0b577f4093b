import django.contrib.postgres.fields
import django.db.models.deletion
import opsapi.fields
import opsapi.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0005_sessions_ended'),
    ]

    operations = [
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('secret', opsapi.fields.EncryptedField()),
                ('confirmed', models.DateTimeField(null=True)),
                ('last_step', models.BigIntegerField(default=0)),
                ('recovery_hashes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                ('created', models.DateTimeField()),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='second_factor', to=settings.AUTH_USER_MODEL)),
            ],
        ),
    ]
