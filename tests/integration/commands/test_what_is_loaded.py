"""Commands load what they need."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
APPLICATIONS = {"accesslist", "automation", "integrations", "alerting"}
PROGRAM = """
import runpy, sys
sys.argv = ["manage.py", *sys.argv[1:], "--help"]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    sys.stderr.write("\\n".join(sys.modules))
"""


OF_THE_WEB_SERVER = {"drf_spectacular.openapi", "rest_framework.views"}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["prepare", "run_worker"])
def test_a_command_loads_neither_pages_of_the_console_nor_views_of_the_api(command: str) -> None:
    loaded = _loaded(command)
    assert "alerting.models" in loaded
    assert not loaded & {f"{name}.{part}" for name in APPLICATIONS for part in ("admin", "views", "forms")}
    assert not loaded & OF_THE_WEB_SERVER


def test_serve_loads_no_application() -> None:
    loaded = _loaded("serve")
    assert "opsapi.supervisor.platform" in loaded
    assert not {name.partition(".")[0] for name in loaded} & APPLICATIONS


def _loaded(command: str) -> set[str]:
    """The modules that `manage.py` imports for a command."""
    python = [sys.executable, "-c", PROGRAM, command]
    done = subprocess.run(python, cwd=ROOT, capture_output=True, text=True, check=False)
    return set(done.stderr.splitlines())
