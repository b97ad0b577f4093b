from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0003_invitations'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='password_given',
            field=models.BooleanField(db_default=False, default=False, help_text='Somebody else set the password. The console asks for a new one after the log-in.', verbose_name='must change the password'),
        ),
    ]
