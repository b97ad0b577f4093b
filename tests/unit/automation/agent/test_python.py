"""The agent is written for Python 3.9, without the platform."""

import ast
import subprocess
import sys
from pathlib import Path

import automation.agent
from automation import addresses, labels, moments, plan, sections
from opsapi import hostnames, redaction
from tests.each import each

ROOT = Path(automation.agent.__file__).parent
OF_PLATFORM = (addresses, hostnames, labels, moments, redaction, sections)
MODULES = [
    *sorted(ROOT.rglob("*.py")),
    *sorted(Path(plan.__file__).parent.rglob("*.py")),
    *(Path(str(module.__file__)) for module in OF_PLATFORM),
]


@each("path", MODULES, ids=lambda path: path.stem)
def test_its_modules_are_python_39_with_late_annotations(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    uses_annotations = any(isinstance(node, (ast.FunctionDef, ast.AnnAssign)) for node in ast.walk(tree))
    late = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    assert late or not uses_annotations


def test_it_loads_neither_django_nor_anything_of_the_platform_but_host_names_and_labels() -> None:
    code = (
        "import sys, automation.agent.__main__;"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in"
        " {'django', 'rest_framework', 'psycopg', 'opsapi', 'automation', 'events', 'accesslist'}"
        " and not name.startswith('automation.agent')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["automation", "automation.labels", "opsapi", "opsapi.hostnames"]
