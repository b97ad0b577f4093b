"""Stores the masked automation document; older revisions are masked when they are read."""

from django.db import migrations, models

import opsapi.fields


class Migration(migrations.Migration):
    dependencies = [("automation", "0015_report_answers")]

    operations = [
        migrations.AddField(
            model_name="automationrevision",
            name="masked",
            field=opsapi.fields.EncryptedField(
                help_text="The document as readers see it; None where nothing is masked.", null=True
            ),
        ),
        migrations.AddField(
            model_name="automationrevision",
            name="masked_by",
            field=models.CharField(help_text="The rule that masked it.", max_length=16, null=True),
        ),
    ]
