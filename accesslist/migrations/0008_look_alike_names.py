"""New users cannot have names that look like existing names. Of existing names that look alike, the oldest counts."""

from django.db import migrations, models

from accesslist.rules.usernames import skeleton


def fill(apps, schema_editor):
    taken, taken_keys = set(), set()
    for user in apps.get_model('accesslist', 'User').objects.order_by('created', 'id').iterator():
        user.username_skeleton = _unless_taken(skeleton(user.username), taken)
        user.username_key_skeleton = _unless_taken(skeleton(user.username_key), taken_keys)
        user.save(update_fields=['username_skeleton', 'username_key_skeleton'])


def _unless_taken(look, taken):
    if look in taken:
        return None
    taken.add(look)
    return look


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0007_words_for_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='username_skeleton',
            field=models.CharField(db_collation='C', editable=False, max_length=600, null=True, unique=True),
        ),
        migrations.AddField(
            model_name='user',
            name='username_key_skeleton',
            field=models.CharField(db_collation='C', editable=False, max_length=600, null=True, unique=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
