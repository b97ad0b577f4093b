"""Counts where services take locks and record changes by themselves, instead of in the scope of a change.

    python -m tools.lock_calls [--lines]

- *opening*: calls of the locks of the actor and of the project, with which a service begins.
- *other*: calls of all other `LOCKS`.
- *records*: private functions that record the event of a change.

The modules that define the locks and the scope are left out. Names that went stay in the lists, so that the
figures of two commits can be compared.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("accesslist", "automation", "integrations", "alerting")
LEFT_OUT = frozenset({"locks.py"})
ONLY_READING = frozenset({"console", "forms", "pages", "views", "resource", "store", "models", "rules"})
OPENING = frozenset({"actor_lock_shared", "actor_lock_in_turn", "project_lock_shared", "scope_lock_shared"})
LOCKS = OPENING | {
    "advisory_lock",
    "api_key_lock",
    "config_lock_shared",
    "configs_lock",
    "global_configs_lock",
    "global_configs_share",
    "identities_lock_exclusive",
    "keys_lock",
    "members_lock_exclusive",
    "organization_lock_shared",
    "own_user_lock",
    "project_lock",
    "project_lock_exclusive",
    "project_lock_in_turn",
    "scopes_lock_shared",
    "user_lock",
}
RECORDING = frozenset({"event_record", "events_record", "groups_events_record"})


def services() -> Iterator[Path]:
    """The modules of all services: in slices all modules that may write."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            _, *folders, name = path.relative_to(ROOT).with_suffix("").parts
            if len(folders) == 1 and name not in ONLY_READING and path.name not in LEFT_OUT:
                yield path


def calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lines and names of called functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.lineno, node.func.id


def occurrences() -> Iterator[tuple[str, str]]:
    """What is counted, with its place."""
    for path in services():
        tree, name = ast.parse(path.read_text()), path.relative_to(ROOT)
        for line, called in calls(tree):
            if called in LOCKS:
                yield "opening" if called in OPENING else "other", f"{name}:{line} {called}"
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("_record"):
                continue
            if any(called in RECORDING for _, called in calls(node)):
                yield "records", f"{name}:{node.lineno} {node.name}"


def main() -> None:
    """Print the figures, and with `--lines` the places."""
    places: dict[str, list[str]] = {"opening": [], "other": [], "records": []}
    for kind, place in occurrences():
        places[kind].append(place)
    for kind, found in places.items():
        shown = found if "--lines" in sys.argv[1:] else []
        sys.stdout.write("\n       ".join([f"{len(found):4} {kind}", *shown]) + "\n")


if __name__ == "__main__":
    main()
