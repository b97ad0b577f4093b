"""`python -m tests.benchmarks.bare_agent PORTS ROUNDS`: the limit of the agent, bare pymongo.

A client for each server, asked the two commands of a poll one after the other, and nothing done with what
they answer. It writes the milliseconds of processor time of a poll, and its memory in MiB.
"""

import json
import sys
import time

from pymongo import MongoClient


def main() -> None:
    """Poll the servers, and print the time."""
    ports, rounds = json.loads(sys.argv[1]), int(sys.argv[2])
    clients = [MongoClient[dict[str, object]]("127.0.0.1", port, directConnection=True) for port in ports]
    before = 0.0
    for number in range(rounds + 1):
        if number == 1:  # connected in the first
            before = time.process_time()
        for client in clients:
            for command in ("hello", "getDiagnosticData"):
                client.admin.command(command)
    cost = (time.process_time() - before) * 1000 / (rounds * len(ports))
    sys.stdout.write(f"{cost}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
