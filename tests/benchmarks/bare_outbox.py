"""The limit notifications are held against: a row and a NOTIFY in one commit, a listener, one POST."""

import threading
from pathlib import Path
from typing import Any

import orjson
import psycopg
import urllib3

from opsapi.embedded.layout import Layout

_CHANNEL = "benchmark_work"
_CREATE = "CREATE TABLE IF NOT EXISTS benchmark_outbox (id bigserial PRIMARY KEY, event text, document text)"
_TAKE = "DELETE FROM benchmark_outbox RETURNING id, event, document"
_LISTEN_SECONDS = 0.5


def subject(number: int) -> str:
    """Host and port of a reported host."""
    return f"db{number:05}.example.com:27017"


class BareOutbox:
    """Sends what the platform would send, without deciding anything."""

    def __init__(self, data_dir: Path, url: str) -> None:
        database = Layout(data_dir).django_database()
        self._database: dict[str, Any] = {
            "dbname": database["NAME"],
            "user": database["USER"],
            "host": database["HOST"],
            "port": database["PORT"],
        }
        self._url = url
        self._writing = psycopg.connect(**self._database)
        self._writing.execute(_CREATE)
        self._writing.commit()
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bare outbox")
        self._thread.start()
        self._listening.wait()

    def send(self, number: int, event: str) -> None:
        """One message: returns when it is committed."""
        document = orjson.dumps({"hostnameAndPort": subject(number)}).decode()
        with self._writing.transaction():
            self._writing.execute(
                "INSERT INTO benchmark_outbox (event, document) VALUES (%s, %s)", (event, document)
            )
            self._writing.execute(f"NOTIFY {_CHANNEL}")

    def close(self) -> None:
        """End the listener."""
        self._stopping.set()
        self._thread.join()
        self._writing.close()

    def _run(self) -> None:
        http = urllib3.PoolManager()
        with psycopg.connect(**self._database, autocommit=True) as connection:
            connection.execute(f"LISTEN {_CHANNEL}")
            self._listening.set()
            while not self._stopping.is_set():
                # Read as a list: the connection runs nothing else while it waits for notifications.
                if list(connection.notifies(timeout=_LISTEN_SECONDS, stop_after=1)):
                    self._send_waiting(connection, http)

    def _send_waiting(self, connection: psycopg.Connection, http: urllib3.PoolManager) -> None:
        for number, event, document in connection.execute(_TAKE).fetchall():
            headers = {"X-Ops-Delivery": f"bare {number}", "X-Ops-Event": event}
            http.request("POST", self._url, body=document.encode(), headers=headers)
