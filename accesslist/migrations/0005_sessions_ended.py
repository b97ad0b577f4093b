from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_teams_and_deleted_projects'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='sessions_ended',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
