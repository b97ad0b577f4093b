"""manage.py demo."""

import pytest
from django.core.management import CommandError, call_command

from accesslist.models import Project, User
from alerting.models import Alert
from automation.models import Host
from events.models import Signal

pytestmark = pytest.mark.django_db


def test_it_fills_an_empty_installation_with_alerts_in_several_states() -> None:
    call_command("demo")
    assert Project.objects.count() == 2
    assert Host.objects.count() == 8
    assert set(Alert.objects.values_list("status", flat=True)) == {"TRACKING", "OPEN", "CLOSED"}
    assert not Signal.objects.exists()


def test_it_refuses_an_installation_in_use(project: Project) -> None:
    with pytest.raises(CommandError, match="not empty"):
        call_command("demo")
    assert not User.objects.exists()
