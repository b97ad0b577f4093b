"""What the console calls them: project, type, worker, process. Changes no table."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0006_second_factor'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='accesslistentry',
            options={'verbose_name_plural': 'access lists'},
        ),
    ]
