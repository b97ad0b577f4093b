"""Commands of Django that would leave no event."""

import pytest
from django.core.management import CommandError, ManagementUtility, call_command

from tests.each import each

INSTEAD = {
    "changepassword": "manage.py reset_password",
    "createsuperuser": "manage.py bootstrap",
    "loaddata": "pg_restore",
}


@each("command", INSTEAD)
def test_a_disabled_command_names_its_replacement_in_one_line(command: str) -> None:
    with pytest.raises(CommandError, match=INSTEAD[command]) as refusal:
        call_command(command)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "typed", [["ada"], ["--username", "ada", "--noinput"], ["rows.json", "--format=json"], []]
)
@pytest.mark.parametrize("command", INSTEAD)
def test_a_disabled_command_accepts_any_arguments(
    command: str, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        ManagementUtility(["manage.py", command, *typed]).execute()
    assert ended.value.code == 1
    assert INSTEAD[command] in capsys.readouterr().err
