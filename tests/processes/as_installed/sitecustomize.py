"""Python reads this at its start: packages for development alone are not there, as on a server.

Other packages import them where they are installed, in every process, at a sixth of the cost of its start.
"""

import sys

for name in ("hypothesis", "jinja2", "pytest", "requests"):
    sys.modules[name] = None  # type: ignore[assignment]  # an import of it then fails
