"""Names of static files with a checksum of the content."""

import gzip
import re

import pytest
from django.templatetags.static import static

from opsapi.hashed_files import hashed_file, plain_name
from tests.each import each

SHEET = "console/fonts/fonts.css"


def test_pages_link_to_a_name_with_the_checksum_of_the_content() -> None:
    found = hashed_file(SHEET)
    assert found
    assert static(SHEET) == f"/static/{found.name}"
    assert found.name == f"console/fonts/fonts.{found.digest}.css"


def test_style_sheet_links_to_hashed_names() -> None:
    found = hashed_file(SHEET)
    assert found
    addresses = re.findall(r'url\("([^"]+)"\)', gzip.decompress(found.content).decode())
    plain = [name for name in map(plain_name, addresses) if name]
    assert sorted(plain) == [
        "icons.woff2",
        "inter-latin-extended.woff2",
        "inter-latin.woff2",
        "inter-others.woff2",
    ]
    targets = [hashed_file(f"console/fonts/{name}") for name in plain]
    assert [target.name.rpartition("/")[2] for target in targets if target] == addresses


def test_style_sheet_keeps_addresses_that_are_data() -> None:
    name = "drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"
    found = hashed_file(name)
    assert found
    assert b"url(data:" in gzip.decompress(found.content).replace(b'"', b"").replace(b"'", b"")


def test_file_that_does_not_exist_has_no_name() -> None:
    with pytest.raises(ValueError, match=r"console/nothing\.css"):
        static("console/nothing.css")


@each(
    ("name", "plain"),
    [
        ("console/console.0123456789ab.css", "console/console.css"),
        ("a.min.0123456789ab.js", "a.min.js"),
        ("console/console.css", None),
        ("console/console.0123456789a.css", None),
        ("console/console.0123456789AB.css", None),
        ("0123456789ab.css", None),
        ("console/console.0123456789ab", None),
    ],
)
def test_plain_name_has_no_checksum(name: str, plain: str | None) -> None:
    assert plain_name(name) == plain
