"""The limit for deliveries: rows claimed with SKIP LOCKED and a lease, a POST, another commit.

A separate process; its number of threads is an argument.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import urllib3

from opsapi.embedded.layout import Layout

_CREATE = (
    "CREATE TABLE benchmark_due (id bigserial PRIMARY KEY, url text, document text, lease timestamptz)",
    "CREATE INDEX ON benchmark_due (id) WHERE lease IS NULL",
)
_DOCUMENT = '{"hostnameAndPort": "db00001.example.com:27017", "status": "OPEN", "padding": "%s"}' % (
    "x" * 400
)
_CLAIM = """
UPDATE benchmark_due SET lease = now() + interval '30 s' WHERE id = (
    SELECT id FROM benchmark_due WHERE lease IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id, url, document
"""
_DONE = "DELETE FROM benchmark_due WHERE id = %s"


def main() -> None:
    """Takes the data directory, threads, how many, and URLs; ends when all are sent."""
    data_dir, threads, count, *urls = sys.argv[1:]
    database = Layout(Path(data_dir)).django_database()
    where = {
        "dbname": database["NAME"],
        "user": database["USER"],
        "host": database["HOST"],
        "port": database["PORT"],
    }
    with psycopg.connect(**where) as connection:
        for statement in _CREATE:
            connection.execute(statement)
        rows = [(urls[number % len(urls)], _DOCUMENT) for number in range(int(count))]
        connection.cursor().executemany("INSERT INTO benchmark_due (url, document) VALUES (%s, %s)", rows)
    with ThreadPoolExecutor(int(threads)) as senders:
        for sender in [senders.submit(_send_all, where) for _ in range(int(threads))]:
            sender.result()
    with psycopg.connect(**where) as connection:
        connection.execute("DROP TABLE benchmark_due")


def _send_all(where: dict[str, Any]) -> None:
    http = urllib3.PoolManager(headers={"Connection": "close"})
    with psycopg.connect(**where, autocommit=True) as connection:
        while row := connection.execute(_CLAIM).fetchone():
            number, url, document = row
            http.request("POST", url, body=document.encode(), headers={"X-Ops-Delivery": f"bare {number}"})
            connection.execute(_DONE, (number,))


if __name__ == "__main__":
    main()
