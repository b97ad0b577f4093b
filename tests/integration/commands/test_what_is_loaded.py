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


@pytest.mark.slow
def test_a_command_does_not_load_the_pages_of_the_console() -> None:
    loaded = _loaded("prepare")
    assert "alerting.models" in loaded
    assert not loaded & {f"{name}.admin" for name in APPLICATIONS}


def test_serve_loads_no_application() -> None:
    loaded = _loaded("serve")
    assert "opsapi.supervisor.platform" in loaded
    assert not {name.partition(".")[0] for name in loaded} & APPLICATIONS


def _loaded(command: str) -> set[str]:
    """The modules that `manage.py` imports for a command."""
    python = [sys.executable, "-c", PROGRAM, command]
    done = subprocess.run(python, cwd=ROOT, capture_output=True, text=True, check=False)
    return set(done.stderr.splitlines())
