"""Addresses to listen on, and the two halves of TLS."""

from pathlib import Path

import pytest

from opsapi.supervisor import StartError
from opsapi.supervisor.listener import check_tls, listen
from tests.each import each


def test_a_name_that_is_no_address() -> None:
    with pytest.raises(
        StartError, match=r"^OPSAPI_BIND: 'no\.such\.host\.invalid' is not an address of this machine"
    ):
        listen("no.such.host.invalid", 80)


def test_an_address_of_another_machine() -> None:
    with pytest.raises(StartError, match=r"^OPSAPI_BIND: cannot listen on 192\.0\.2\.1:80: "):
        listen("192.0.2.1", 80)


def test_without_certificate_and_key_there_is_nothing_to_check() -> None:
    check_tls(None, None)


@each(("certificate", "key"), [(Path("c"), None), (None, Path("k"))])
def test_a_certificate_without_key_is_refused(certificate: Path | None, key: Path | None) -> None:
    with pytest.raises(StartError, match="both or neither"):
        check_tls(certificate, key)


def test_an_invalid_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("nonsense")
    with pytest.raises(StartError, match="cannot be used"):
        check_tls(tmp_path / "c", tmp_path / "c")
