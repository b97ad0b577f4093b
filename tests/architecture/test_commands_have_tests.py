"""Every command of manage.py that is ours is named by a test that calls it (architecture habit 7)."""

from pathlib import Path

from django.core.management import get_commands

from tests.each import each

TESTS = Path(__file__).parent.parent
OUR_APPS = {"opsapi", "events", "accesslist", "automation", "integrations", "alerting", "tools"}
COMMANDS = sorted(name for name, app in get_commands().items() if app in OUR_APPS)


@each("command", COMMANDS)
def test_a_command_is_called_by_a_test(command: str) -> None:
    calls = [path for path in TESTS.rglob("*.py") if f'"{command}"' in path.read_text()]
    assert calls, f"no test calls manage.py {command}"
