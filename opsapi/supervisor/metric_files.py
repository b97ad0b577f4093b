"""Where the processes of a machine put what they count, for `/metrics` to add up.

To be called before anything imports the metrics library, which looks at the variable once.
"""

import os
from pathlib import Path

from opsapi.environment import declare
from opsapi.secret_files import make_private_directory

VARIABLE = declare("PROMETHEUS_MULTIPROC_DIR", "", "path of a directory")


def prepare(data_dir: Path) -> dict[str, str]:
    """Make the directory, and take away what ended processes left there; answers what the environment needs.

    It is that of the environment, if it names one. Files of processes that live stay: web processes and
    workers may have been started one by one. Raises ImproperlyConfigured when it cannot be made.
    """
    directory = Path(os.environ.get(VARIABLE) or data_dir / "metrics")
    if directory.parent == data_dir:
        make_private_directory(data_dir)
    make_private_directory(directory)
    if directory.parent == data_dir:
        directory.chmod(0o700)  # root's, too: nobody else has business in it
    for file in directory.glob("*_*.db"):
        number = file.stem.rpartition("_")[2]
        if number.isdigit() and not Path("/proc", number).exists():
            file.unlink(missing_ok=True)
    return {VARIABLE: str(directory)}
