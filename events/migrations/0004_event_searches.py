"""The filters of the console's event list: types of a project, who, from where, which host."""

from django.db import migrations, models
from django.db.models.functions import Coalesce
from django.db.models.lookups import IsNull

from opsapi.fields import JsonText

_NEWEST = models.OrderBy(models.F("created"), descending=True)
_WHO = Coalesce(JsonText("details", "username"), JsonText("details", "publicKey"))
_ADDRESS = JsonText("details", "remoteAddress")
_HOSTNAME = JsonText("details", "hostname")


def _where(expression: Coalesce | JsonText, name: str) -> migrations.AddIndex:
    condition = models.Q(IsNull(expression, False))
    return migrations.AddIndex("event", models.Index(expression, _NEWEST, name=name, condition=condition))


class Migration(migrations.Migration):
    dependencies = [("events", "0003_failed_signals")]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["group_id", "event_type", "-created"], name="event_group_type_newest"),
        ),
        _where(_WHO, "event_who_newest"),
        _where(_ADDRESS, "event_address_newest"),
        _where(_HOSTNAME, "event_hostname_newest"),
    ]
