"""The documents as a site, as `make docs` builds them; `make test` and `make test-slow` do that first."""

from pathlib import Path

import pytest

from tests.documents import ROOT


def built_site() -> Path:
    """The directory of the site; the test fails where it was not built."""
    site = ROOT / "site"
    if not (site / "index.html").is_file():
        pytest.fail("site/ is missing: run `make docs` first")
    return site
