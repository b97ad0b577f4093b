"""Used nonces and rate windows need not survive a crash: keep them out of the write-ahead log."""

from django.db import migrations

TABLES = ("accesslist_digestuse", "accesslist_ratewindow")


class Migration(migrations.Migration):
    dependencies = [("accesslist", "0001_initial")]

    operations = [
        migrations.RunSQL(
            sql=[f"ALTER TABLE {table} SET UNLOGGED" for table in TABLES],
            reverse_sql=[f"ALTER TABLE {table} SET LOGGED" for table in TABLES],
        )
    ]
