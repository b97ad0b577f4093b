"""Measures whether the code of an app is cut by feature: how many of its own imports stay within a folder.

    python -m tools.imports_within [--lines] [--between]

Each module that imports another module of the same app counts once. The imports are
- *slice*: within a folder of a feature, such as `accesslist/teams`;
- *shared*: of a module at the top of the app, which all features share;
- *between*: all others. `--between` prints them.

*Upward* imports lead from a room to a room that should import it, such as from a model to `changes`.
`--lines` prints the lines of code by package and kind of room.

Left out are the migrations, and the agent, a program of its own.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("alerting", "integrations", "automation", "accesslist", "events")
PROGRAMS = ("automation.agent",)
ROOMS = {
    "console": ("console", "admin", "forms", "panels"),
    "views": ("views",),
    "changes": ("changes",),
    "resource": ("resource",),
    "store": ("store",),
    "models": ("models",),
    "rules": ("rules", "choices"),
}
"""The kinds of rooms with the names of their files. A room imports only rooms below it."""
LEVELS = {"console": 0, "views": 0, "changes": 1, "resource": 2, "store": 3, "models": 4, "rules": 5}
KINDS = (*ROOMS, "other", "agent", "migrations")


@cache
def modules(app: str) -> dict[str, Path]:
    """The modules of the app with their files."""
    paths = {path: path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / app).rglob("*.py"))}
    named = {".".join(path.parts).removesuffix(".__init__"): file for file, path in paths.items()}
    return {name: file for name, file in named.items() if kind(name) not in {"agent", "migrations"}}


def kind(module: str) -> str:
    """The kind of the room of a module."""
    if any(f"{module}.".startswith(f"{program}.") for program in PROGRAMS):
        return "agent"
    parts = module.split(".")[1:]
    if "migrations" in parts:
        return "migrations"
    kinds = [room for part in parts[:2] for room, names in ROOMS.items() if part in names]
    return kinds[-1] if kinds else "other"


def imports(app: str) -> Iterator[tuple[str, str]]:
    """Each pair of modules of the app of which the first imports the second."""
    known = modules(app)
    for module, file in known.items():
        named = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                below = [f"{node.module}.{alias.name}" for alias in node.names]
                named |= {name if name in known else node.module for name in below}
        yield from ((module, other) for other in sorted(named & (known.keys() - {module, app})))


def folder(module: str) -> str:
    """The folder of the module below its app; an empty text at the top of the app."""
    path = modules(module.partition(".")[0])[module].relative_to(ROOT)
    return path.parts[1] if len(path.parts) > 2 else ""


def place(module: str, other: str) -> str:
    """How the import stays within a folder."""
    here, there = folder(module), folder(other)
    if not there:
        return "shared"
    return "slice" if here == there else "between"


def is_upward(module: str, other: str) -> bool:
    """Whether a room imports a room above it."""
    lower, upper = LEVELS.get(kind(module)), LEVELS.get(kind(other))
    return lower is not None and upper is not None and lower > upper


def lines() -> Iterator[str]:
    """A table of the lines by package and kind."""
    yield f"{'':14}" + "".join(f"{name:>11}" for name in KINDS)
    for package in (*PACKAGES, "opsapi"):
        counts: Counter[str] = Counter()
        for file in (ROOT / package).rglob("*.py"):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            counts[kind(module)] += len(file.read_text().splitlines())
        yield f"{package:14}" + "".join(f"{counts[name]:11,}" for name in KINDS)


def main() -> None:
    """Print the shares of each app."""
    if "--lines" in sys.argv[1:]:
        sys.stdout.write("\n".join(lines()) + "\n")
    for app in PACKAGES:
        pairs = list(imports(app))
        places = Counter(place(*pair) for pair in pairs)
        shares = ", ".join(
            f"{name} {100 * places[name] / len(pairs):.0f} %" for name in ("slice", "shared", "between")
        )
        upward = [pair for pair in pairs if is_upward(*pair)]
        files = f"{len(modules(app))} modules, {len(pairs)} imports"
        sys.stdout.write(f"{app:13} {files}: {shares}; {len(upward)} upward\n")
        between = [pair for pair in pairs if "--between" in sys.argv[1:] and place(*pair) == "between"]
        for module, other in between or upward:
            sys.stdout.write(f"    {module} imports {other}\n")


if __name__ == "__main__":
    main()
