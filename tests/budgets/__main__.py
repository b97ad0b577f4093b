"""Searches for the most expensive inputs, and writes their costs as JSON and as a table.

python -m tests.budgets measure now.json
python -m tests.budgets measure before.json --checkout ../another-checkout
python -m tests.budgets table before.json now.json
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.budgets.operations import OPERATIONS, Bench
from tests.budgets.search import Findings
from tests.budgets.site import budget_site
from tests.budgets.trial import BudgetTrial

_HEAD = (
    "| operation | most expensive input found | CPU s, before | now | MiB, before | now |"
    " other project, before | now |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|"
)
Rows = dict[str, Mapping[str, Any]]


def main() -> None:
    """Run the command of the command line."""
    parser = argparse.ArgumentParser(prog="tests.budgets", description=__doc__)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("file", type=Path)
    measure.add_argument("--checkout", type=Path, help="measure this checkout instead of this one")
    measure.add_argument("--tries", type=int, default=8, help="inputs of each operation (default: 8)")
    measure.add_argument("--seed", type=int, default=1)
    measure.add_argument("--only", help="names of operations, separated by commas")
    measure.set_defaults(run=_measure)
    table = commands.add_parser("table")
    table.add_argument("before", type=Path)
    table.add_argument("now", type=Path)
    table.set_defaults(run=_table)
    options = parser.parse_args()
    options.run(options)


def _measure(options: argparse.Namespace) -> None:
    wanted = options.only.split(",") if options.only else [operation.name for operation in OPERATIONS]
    rows: Rows = json.loads(options.file.read_text()) if options.file.exists() else {}
    with budget_site(options.checkout) as site, site.other() as other:
        trial = BudgetTrial(Bench(site), other)
        for operation in OPERATIONS:
            if operation.name in wanted:
                findings = trial.search(operation, tries=options.tries, seed=options.seed)
                rows[operation.name] = {**row_of(findings), "refusals": trial.refusals}
                trial.refusals = []
                # Write each row, so that a run that is stopped keeps its rows.
                options.file.write_text(json.dumps(rows, indent=1))
                sys.stderr.write(f"{operation.name}: {json.dumps(rows[operation.name])}\n")


def row_of(findings: Findings) -> Mapping[str, Any]:
    """The results of an operation for the file."""
    dearest = findings.dearest
    return {
        "tried": len(findings.tried),
        "refused": findings.refused,
        "dearest": asdict(dearest) if dearest else None,
        "memory": max((found.memory for found in findings.tried), default=0.0),
        "delay": findings.longest_delay,
        "slowest": max((found.seconds for found in findings.tried), default=0.0),
    }


def _table(options: argparse.Namespace) -> None:
    before, now = (json.loads(path.read_text()) for path in (options.before, options.now))
    lines = [_line(operation.name, before, now) for operation in OPERATIONS if operation.name in now]
    sys.stdout.write("\n".join([_HEAD, *lines]) + "\n")


def _line(name: str, before: Rows, now: Rows) -> str:
    rows = [before.get(name), now[name]]
    cells = [_cpu(row) for row in rows] + [_number(row, "memory", 0) for row in rows]
    return f"| {name} | {_inputs(*rows)} | " + " | ".join([*cells, *(_delay(row) for row in rows)]) + " |"


def _inputs(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    said = [_input(row) for row in (before, now)]
    return said[1] if said[0] in ("", said[1]) else f"before: {said[0]}; now: {said[1]}"


def _input(row: Mapping[str, Any] | None) -> str:
    if not row or not row["dearest"]:
        return ""
    return ", ".join(f"{name} {value}" for name, value in row["dearest"]["genes"].items())


def _cpu(row: Mapping[str, Any] | None) -> str:
    if not row or not row["dearest"]:
        return "–"
    seconds = row["dearest"]["cpu_seconds"]
    return f"{seconds:.2g}" if row["dearest"]["finished"] else f"over {seconds:.0f}"


def _number(row: Mapping[str, Any] | None, name: str, digits: int) -> str:
    return f"{row[name]:.{digits}f}" if row else "–"


def _delay(row: Mapping[str, Any] | None) -> str:
    return f"{row['delay']:.2f} s" if row else "–"


if __name__ == "__main__":
    main()
