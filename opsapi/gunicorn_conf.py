"""The configuration of gunicorn, for `manage.py serve` and for each machine of a larger installation.

`gunicorn -c python:opsapi.gunicorn_conf opsapi.wsgi`
"""

import os
import signal
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from gunicorn import sock

from opsapi import metric_files
from opsapi.database_clock import database_clock
from opsapi.encryption import newest_key
from opsapi.hostnames import host_and_port
from opsapi.libc import die_with, return_large_blocks
from opsapi.supervisor import StartError
from opsapi.supervisor.arrival import LONGEST_LINE, MOST_FIELDS
from opsapi.supervisor.certificate import Certificate
from opsapi.supervisor.listener import BACKLOG, LISTENER_VARIABLE, READY_VARIABLE, check_tls

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")
try:
    newest_key()
    _tls = [
        settings.BASE_DIR / name if name else None
        for name in (settings.OPSAPI_TLS_CERT, settings.OPSAPI_TLS_KEY)
    ]
    check_tls(*_tls)
except (ImproperlyConfigured, StartError) as error:
    sys.exit(str(error))
if READY_VARIABLE not in os.environ:  # Otherwise `manage.py serve` has done it, also for the worker.
    os.environ.update(metric_files.prepare(settings.OPSAPI_DATA_DIR))


wsgi_app = "opsapi.wsgi"
bind = [
    f"fd://{os.environ[LISTENER_VARIABLE]}"
    if LISTENER_VARIABLE in os.environ
    else host_and_port(*settings.OPSAPI_BIND)
]
worker_class = "opsapi.supervisor.web_worker.WebWorker"
workers = settings.OPSAPI_WORKERS
threads = settings.OPSAPI_THREADS
# Connections, not requests: most of them wait in the event loop. Lower if the limit of open files is lower.
worker_connections = 4000
backlog = BACKLOG
timeout = 30
graceful_timeout = 3
keepalive = 15
sendfile = False  # Data that a client does not read waits in the event loop, including files.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 an unnamed file

limit_request_line = LONGEST_LINE
limit_request_fields = MOST_FIELDS
limit_request_field_size = LONGEST_LINE
# Only the application interprets X-Forwarded-*, with OPSAPI_TRUSTED_PROXIES.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
header_map = "drop"

certfile, keyfile = (str(path) if path else None for path in _tls)

proc_name = "opsapi"
control_socket_disable = True
accesslog = None  # The platform writes its own request log.
errorlog = "-"
loglevel = settings.OPSAPI_LOG_LEVEL.lower()
logconfig_dict = {
    **settings.LOGGING,
    "loggers": {
        "gunicorn.error": {"handlers": ["stderr"], "level": settings.OPSAPI_LOG_LEVEL, "propagate": False}
    },
}


_certificates: list[Certificate] = []


def ssl_context(config: Any, make: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """A shared context for all connections; gunicorn asks for each connection."""
    if not _certificates:
        _certificates.append(
            Certificate(Path(config.certfile), Path(config.keyfile), lambda: _strict(make()))
        )
    return _certificates[0].context(time.monotonic())


def _strict(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Another handshake of TLS 1.2 on an open connection would run in the event loop.
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


def on_starting(server: Any) -> None:
    """Read the certificate in the master, so that each worker has one even if the files are broken later."""
    if server.cfg.is_ssl:
        sock.ssl_context(server.cfg)


def pre_fork(_server: Any, _worker: Any) -> None:
    """Give a new worker, for example after SIGHUP, the newest certificate that can be used."""
    for certificate in _certificates:
        certificate.look()


def post_fork(_server: Any, worker: Any) -> None:
    """End a worker with its master: it would still hold the listening socket."""
    die_with(worker.ppid, signal.SIGKILL)
    return_large_blocks()


def post_worker_init(_worker: Any) -> None:
    """Compare the clock with the database's, and signal to `manage.py serve` that this worker is ready."""
    database_clock.compare_at_start()
    if READY_VARIABLE in os.environ:
        os.write(int(os.environ[READY_VARIABLE]), b"1")
