"""A process that holds the server of the directory in its argument until it is killed."""

import signal
import sys
from pathlib import Path

from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from opsapi.supervisor.platform import DirectoryLock

if __name__ == "__main__":
    data_dir = Path(sys.argv[1])
    data_dir.mkdir(mode=0o711, exist_ok=True)
    DirectoryLock(data_dir).acquire()
    server = Server(Layout(data_dir))
    server.start()
    server.wait_ready()
    sys.stdout.write(f"{server.pid}\n")
    sys.stdout.flush()
    signal.pause()
