"""Runs a module of this package in a process of its own."""

import json
import subprocess
import sys
from typing import Any

from tests.processes.platform import ROOT, RunningPlatform


def run_in_own_process(platform: RunningPlatform, module: str, *arguments: object) -> Any:
    """Run `main` of a module with the settings of a platform, and return the JSON that it writes."""
    # Django is set up before the module with the models is imported. Processes of the platform have room too.
    code = (
        f"import django; django.setup(); from tests.benchmarks import {module}; "
        f"from opsapi.call_stack import with_room; with_room({module}.main)()"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=platform.environment, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)
