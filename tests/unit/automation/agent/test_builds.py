"""Builds of the database: chosen, downloaded, unpacked and checked; a build is whole or not there."""

import gzip
import hashlib
import http.server
import io
import itertools
import os
import shutil
import socket
import ssl
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from automation.agent.automation import build_faults, builds, directories, fetch, unpack
from automation.agent.automation.build_faults import BuildError, BuildFault, DownloadLimits
from automation.agent.automation.builds import (
    LOCK,
    UNFINISHED,
    Build,
    Builds,
    DocumentBuilds,
    MachineKind,
    choose,
    this_kind,
)
from tests.each import each
from tests.hostile.budget import LONG
from tests.killed_lines import kill_at, lines_of
from tests.processes.build_archives import TOP, file_url, member, packed, packed_build, script
from tests.processes.certificates import Authority
from tests.receivers import HttpReceiver

COMMIT = "c9a99c120371d4d4c52cbb15dac34a36ce8d3b1d"
ARCHIVE = packed_build(script(COMMIT))
SECRET = "hunter2-and-more"
LIMITS = DownloadLimits(spare=0)
LINUX = MachineKind("linux", "amd64")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    """A server of archives."""
    with HttpReceiver().running() as receiver:
        receiver.answer(200, {}, ARCHIVE)
        yield receiver


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The download directory, which does not exist yet."""
    return tmp_path / "allowed" / "downloads"


def a_build(url: str, **values: Any) -> Build:
    """A build of version 6.0.5 that the program of `ARCHIVE` is."""
    return Build(**{"version": "6.0.5", "url": url, "commit": COMMIT, "modules": frozenset(), **values})


def builds_in(base: Path, limits: DownloadLimits = LIMITS, **more: Any) -> Builds:
    """The builds of a directory that the operator allows."""
    base.parent.mkdir(exist_ok=True)
    return Builds(base, [base.parent], limits=limits, **more)


def failure(base: Path, build: Build, limits: DownloadLimits = LIMITS, **more: Any) -> BuildError:
    """Why the build is not there. Nothing of it is there, and nothing else has changed."""
    machine = builds_in(base, limits, **more)
    outside = tree(base.parent.parent, without=base)
    with pytest.raises(BuildError) as caught:
        machine.ensure(build)
    assert machine.find(build) is None
    assert tree(base) <= {LOCK}
    assert tree(base.parent.parent, without=base) == outside
    assert SECRET not in str(caught.value)
    return caught.value


def tree(directory: Path, without: Path | None = None) -> set[str]:
    """The names below a directory."""
    paths = directory.rglob("*")
    return {str(path.relative_to(directory)) for path in paths if without not in {path, *path.parents}}


def entry(**values: Any) -> Mapping[str, Any]:
    """A build of the document for this test's machine."""
    usual = {"platform": "linux", "architecture": "amd64", "gitVersion": COMMIT, "modules": []}
    return {**usual, "url": "https://example.com/a.tgz", **values}


class TestChoice:
    """The build of a version for a machine."""

    @each(
        "others",
        [
            [],
            [entry(platform="windows", win2008plus=True, url="https://example.com/w.tgz")],
            [entry(architecture="ppc64le", url="https://example.com/p.tgz")],
            [entry(bits=32, url="https://example.com/32.tgz")],
            [entry()],
        ],
    )
    def test_the_build_of_platform_and_architecture_is_chosen(self, others: list[Mapping[str, Any]]) -> None:
        choice = choose("6.0.5", [*others, entry(platform="Linux", bits=64)], LINUX)
        assert choice == a_build("https://example.com/a.tgz")

    @each("running", [frozenset(), frozenset({"enterprise"})])
    def test_of_several_modules_it_is_the_build_that_the_server_has(self, running: frozenset[str]) -> None:
        both = [entry(), entry(modules=["Enterprise"])]
        assert choose("6.0.5", both, LINUX, running).modules == running

    @each(
        ("entries", "fault"),
        [
            ([], BuildFault.NO_BUILD),
            ([entry(architecture="ppc64le"), entry(platform="osx")], BuildFault.NO_BUILD),
            ([entry(), entry(modules=["enterprise"])], BuildFault.SEVERAL_BUILDS),
            ([entry(), entry(url="https://example.com/other.tgz")], BuildFault.SEVERAL_BUILDS),
            ([entry(url=None)], BuildFault.INVALID_BUILD),
            ([entry(gitVersion="")], BuildFault.INVALID_BUILD),
            ([entry(modules=[1])], BuildFault.INVALID_BUILD),
            ([entry(sha256="0" * 63)], BuildFault.INVALID_BUILD),
            ([entry(sha256=7)], BuildFault.INVALID_BUILD),
        ],
    )
    def test_otherwise_none_is_chosen(self, entries: list[Mapping[str, Any]], fault: BuildFault) -> None:
        with pytest.raises(BuildError) as caught:
            choose("6.0.5", entries, LINUX)
        assert caught.value.fault is fault

    def test_the_machine_has_a_name_of_the_document(self) -> None:
        assert this_kind().platform == sys.platform

    def test_builds_with_other_contents_have_other_directories(self) -> None:
        several = [
            a_build(""),
            a_build("", version="6.0.6"),
            a_build("", commit="0" * 40),
            a_build("", modules=frozenset({"enterprise"})),
            a_build("", version="../../etc"),
            a_build("", version="x" * 300),
        ]
        names = {build.directory for build in several}
        assert len(names) == len(several)
        assert all(len(Path(name).parts) == 1 and len(name) < 100 for name in names)


class TestDownload:
    """Builds that arrive."""

    def test_a_build_of_a_file_is_unpacked(self, base: Path, tmp_path: Path) -> None:
        build = a_build(file_url(tmp_path, ARCHIVE))
        place = builds_in(base).ensure(build)
        assert tree(place) == {"LICENSE", "bin", "bin/mongod", "bin/mongos"}
        assert [place.joinpath(name).stat().st_mode & 0o777 for name in ("LICENSE", "bin/mongod")] == [
            0o644,
            0o755,
        ]
        assert builds_in(base).find(build) == place
        assert builds_in(base).find(a_build("", version="7.0.0")) is None
        assert tree(base) == {LOCK, place.name} | {f"{place.name}/{name}" for name in tree(place)}

    def test_a_build_is_downloaded_once(self, base: Path, receiver: HttpReceiver) -> None:
        build = a_build(receiver.url("/a.tgz?token=1"))
        places = [builds_in(base).ensure(build) for _ in range(2)]
        assert places[0] == places[1]
        assert [request.path for request in receiver.requests] == ["/a.tgz?token=1"]

    def test_its_checksum_is_compared_if_the_document_has_it(self, base: Path, tmp_path: Path) -> None:
        build = a_build(file_url(tmp_path, ARCHIVE), sha256="0" * 64)
        assert failure(base, build).fault is BuildFault.CHECKSUM
        builds_in(base).ensure(a_build(build.url, sha256=hashlib.sha256(ARCHIVE).hexdigest()))

    def test_an_archive_without_a_top_directory_is_unpacked(self, base: Path, tmp_path: Path) -> None:
        archive = packed([(member("./bin/mongod"), script(COMMIT))])
        assert tree(builds_in(base).ensure(a_build(file_url(tmp_path, archive)))) == {"bin", "bin/mongod"}

    def test_user_and_password_of_the_url_go_to_its_server_only(
        self, base: Path, receiver: HttpReceiver
    ) -> None:
        with HttpReceiver().running() as first:
            first.answer(302, {"Location": receiver.url("/there.tgz")})
            url = first.url("/here.tgz").replace("//", f"//reader:{SECRET}%40@")
            builds_in(base).ensure(a_build(url))
        basic = "Basic cmVhZGVyOmh1bnRlcjItYW5kLW1vcmVA"
        assert [request.headers.get("Authorization") for request in first.requests] == [basic]
        assert ["Authorization" in request.headers for request in receiver.requests] == [False]

    def test_other_builds_and_files_stay(self, base: Path, tmp_path: Path) -> None:
        url = file_url(tmp_path, ARCHIVE)
        older = builds_in(base).ensure(a_build(url, version="v6.0.5-older"))
        (base / "notes.txt").touch()
        builds_in(base).ensure(a_build(url))
        assert (older / "bin" / "mongod").exists()
        assert (base / "notes.txt").exists()

    def test_the_program_does_not_get_the_key_of_the_agent(
        self, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPSAPI_AGENT_PRIVATE_KEY", SECRET)
        program = script(COMMIT, more="env | grep -q OPSAPI_AGENT && exit 1")
        builds_in(base).ensure(a_build(file_url(tmp_path, packed_build(program))))


class TestAddress:
    """URLs that agents use."""

    @each(
        "url",
        [
            "",
            "linux/mongodb.tgz",
            "/linux/mongodb.tgz",
            "//example.com/a.tgz",
            "ftp://example.com/a.tgz",
            "data:application/gzip,a",
            "https:///a.tgz",
            "https://example.com:0/a.tgz",
            "https://example.com:99999/a.tgz",
            "https://[::1/a.tgz",
            "https://example.com/a b.tgz",
            "https://example.com/a\r\nX: y",
            "https://example.com/ä.tgz",
            "file:a.tgz",
            "file://fileserver/a.tgz",
            "file:///dev/null",
        ],
    )
    def test_others_are_refused(self, base: Path, url: str) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        assert failure(base, a_build(url)).fault is BuildFault.ADDRESS

    def test_a_pipe_is_refused_without_waiting_for_a_writer(self, base: Path, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert failure(base, a_build((tmp_path / "pipe").as_uri())).fault is BuildFault.ADDRESS

    @each(
        ("place", "fault"),
        [
            ("file:///etc/hostname", BuildFault.HTTP_STATUS),
            ("ftp://example.com/a.tgz", BuildFault.ADDRESS),
            (f"http://user:{SECRET}@127.0.0.1/a.tgz", BuildFault.ADDRESS),
            (f"http://{SECRET}@127.0.0.1/a.tgz", BuildFault.ADDRESS),
            (f"http://user:{SECRET}@127.0.0.1:x/a.tgz", BuildFault.ADDRESS),
        ],
    )
    def test_redirects_to_others_are_refused(self, base: Path, place: str, fault: BuildFault) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        with HttpReceiver().running() as receiver:
            receiver.answer(302, {"Location": place})
            assert failure(base, a_build(receiver.url())).fault is fault

    def test_redirects_that_do_not_end_are_refused(self, base: Path, receiver: HttpReceiver) -> None:
        receiver.answer(302, {"Location": "/a.tgz"})
        assert failure(base, a_build(receiver.url())).fault is BuildFault.HTTP_STATUS
        assert len(receiver.requests) < 10

    def test_a_redirect_from_https_to_http_is_refused(
        self, base: Path, tmp_path: Path, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        authority = Authority(tmp_path / "ca")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.issue("localhost", "localhost"))
        with HttpReceiver(context).running() as secured:
            secured.answer(302, {"Location": receiver.url()})
            assert failure(base, a_build(secured.url(host="localhost"))).fault is BuildFault.ADDRESS
            secured.answer(200, {}, ARCHIVE)
            builds_in(base).ensure(a_build(secured.url(host="localhost")))
        assert receiver.requests == []


class TestFailures:
    """Builds that do not arrive. After each, the build is not there, and the next try succeeds."""

    @each("status", [204, 401, 404, 500, 503])
    def test_an_answer_without_the_file_fails(self, base: Path, status: int) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        with HttpReceiver().running() as receiver:
            receiver.answer(status, {}, b"")
            url = receiver.url(f"/a.tgz?signature={SECRET}").replace("//", f"//user:{SECRET}@")
            error = failure(base, a_build(url))
            assert (error.fault, str(status) in str(error)) == (BuildFault.HTTP_STATUS, True)

    def test_a_server_that_does_not_answer_is_unreachable(self, base: Path) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://user:{SECRET}@127.0.0.1:{unused.getsockname()[1]}/a.tgz?token={SECRET}"
            error = failure(base, a_build(url))
        assert (error.fault, error.fault.is_passing) == (BuildFault.UNREACHABLE, True)

    def test_an_unknown_certificate_is_refused(self, base: Path, tmp_path: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Authority(tmp_path / "ca").issue("localhost", "localhost"))
        with HttpReceiver(context).running() as secured:
            error = failure(base, a_build(secured.url(host="localhost")))
        assert (error.fault, "certificate" in str(error)) == (BuildFault.UNREACHABLE, True)

    @each("length", ["Content-Length", "Transfer-Encoding"])
    def test_a_connection_that_ends_early_cuts_the_file(self, base: Path, length: str) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        value = "chunked" if length == "Transfer-Encoding" else str(len(ARCHIVE))
        head = f"HTTP/1.1 200 OK\r\n{length}: {value}\r\n\r\n".encode()
        half = ARCHIVE[: len(ARCHIVE) // 2]
        chunk = b"%x\r\n%s" % (len(ARCHIVE), half) if value == "chunked" else half
        with HttpReceiver().running() as receiver:
            receiver.behave(lambda handler: handler.wfile.write(head + chunk))
            assert failure(base, a_build(receiver.url())).fault is BuildFault.CUT
            receiver.answer(200, {}, ARCHIVE)
            builds_in(base).ensure(a_build(receiver.url()))

    def test_an_archive_that_is_cut_anywhere_is_refused(self, base: Path, tmp_path: Path) -> None:
        for length in range(0, len(ARCHIVE), max(1, len(ARCHIVE) // 40)):
            error = failure(base, a_build(file_url(tmp_path, ARCHIVE[:length])))
            assert error.fault in {BuildFault.CUT, BuildFault.DAMAGED}, length
        builds_in(base).ensure(a_build(file_url(tmp_path, ARCHIVE)))

    def test_an_archive_that_was_cut_before_it_was_compressed_is_refused(
        self, base: Path, tmp_path: Path
    ) -> None:
        content = gzip.decompress(ARCHIVE)
        for length in range(0, len(content.rstrip(b"\0")) + 512, 256):
            error = failure(base, a_build(file_url(tmp_path, gzip.compress(content[:length]))))
            assert error.fault in {BuildFault.CUT, BuildFault.DAMAGED, BuildFault.NO_PROGRAM}, length

    def test_an_archive_with_a_wrong_byte_is_refused(self, base: Path, tmp_path: Path) -> None:
        for place in range(10, len(ARCHIVE) - 4, max(1, len(ARCHIVE) // 40)):
            wrong = bytearray(ARCHIVE)
            wrong[place] ^= 0x55
            failure(base, a_build(file_url(tmp_path, bytes(wrong))))

    @each("octets", [b"", b"<html>not found</html>", b"PK\x03\x04", gzip.compress(b"<html></html>")])
    def test_a_file_that_is_no_archive_is_refused(self, base: Path, tmp_path: Path, octets: bytes) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        assert failure(base, a_build(file_url(tmp_path, octets))).fault is BuildFault.DAMAGED

    def test_a_file_that_is_missing_fails(self, base: Path, tmp_path: Path) -> None:
        assert failure(base, a_build((tmp_path / "none").as_uri())).fault is BuildFault.FILES

    @each(("length", "body"), [(None, ARCHIVE), (len(ARCHIVE), ARCHIVE), (10**12, b"")])
    def test_a_file_that_is_too_large_is_refused(self, base: Path, length: int | None, body: bytes) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        limits = DownloadLimits(archive=len(ARCHIVE) - 1, spare=0)
        head = b"" if length is None else b"Content-Length: %d\r\n" % length
        answer = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body
        with HttpReceiver().running() as receiver:
            receiver.behave(lambda handler: handler.wfile.write(answer))
            assert failure(base, a_build(receiver.url()), limits).fault is BuildFault.TOO_LARGE

    def test_a_download_that_is_shorter_than_announced_is_cut(
        self, base: Path, receiver: HttpReceiver
    ) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(ARCHIVE) + 1)
        receiver.behave(lambda handler: handler.wfile.write(head + ARCHIVE))
        assert failure(base, a_build(receiver.url())).fault is BuildFault.CUT

    def test_a_download_that_takes_too_long_is_given_up(self, base: Path, receiver: HttpReceiver) -> None:
        clock = itertools.count(0.0, LIMITS.seconds + 1.0)
        error = failure(base, a_build(receiver.url()), monotonic=lambda: next(clock))
        assert error.fault is BuildFault.TOO_SLOW

    def test_a_server_that_drips_is_cut_off(self, base: Path, receiver: HttpReceiver) -> None:
        receiver.drip(b"HTTP/1.1 200 OK\r\nX: ")
        limits = DownloadLimits(seconds=0.5, spare=0)
        assert failure(base, a_build(receiver.url()), limits).fault is BuildFault.TOO_SLOW

    @each("octets", [ARCHIVE, b"<html></html>"])
    def test_a_disk_with_too_little_room_is_not_filled(
        self, base: Path, tmp_path: Path, octets: bytes
    ) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        limits = DownloadLimits(spare=1 << 60)
        assert failure(base, a_build(file_url(tmp_path, octets)), limits).fault is BuildFault.DISK_FULL


class TestArchive:
    """What an archive can have."""

    @each(
        "wrong",
        [
            member("../evil"),
            member(f"{TOP}/../../evil"),
            member("/tmp/evil"),  # noqa: S108 - refused
            member("."),
            member("a\nb"),
            member(f"{TOP}/bin/mongod/evil"),
            member(f"{TOP}/LICENSE"),
            member(f"{TOP}/bin"),
            member("../evil", tarfile.DIRTYPE),
            member("evil", tarfile.SYMTYPE, link="/etc/passwd"),
            member("evil", tarfile.SYMTYPE, link="../../.."),
            member("evil", tarfile.SYMTYPE, link="LICENSE"),
            member("evil", tarfile.LNKTYPE, link="/etc/passwd"),
            member("evil", tarfile.LNKTYPE, link=f"{TOP}/LICENSE"),
            member("evil", tarfile.CHRTYPE),
            member("evil", tarfile.BLKTYPE),
            member("evil", tarfile.FIFOTYPE),
            member("evil", tarfile.GNUTYPE_SPARSE),
        ],
        ids=lambda header: f"{header.name} {header.type!r} {header.linkname}",
    )
    def test_others_than_files_and_directories_in_it_are_refused(
        self, base: Path, tmp_path: Path, wrong: tarfile.TarInfo
    ) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(ARCHIVE)) as tar:
            usual = [(header, b"#!/bin/sh\n" if header.isreg() else b"") for header in tar]
        for members in ([*usual, (wrong, b"")], [(wrong, b""), *usual]):
            error = failure(base, a_build(file_url(tmp_path, packed(members))))
            assert error.fault is BuildFault.UNSAFE_MEMBER

    def test_special_modes_are_not_unpacked(self, base: Path, tmp_path: Path) -> None:
        archive = packed([(member("bin/mongod", mode=0o6777), script(COMMIT))])
        place = builds_in(base).ensure(a_build(file_url(tmp_path, archive)))
        assert (place / "bin" / "mongod").stat().st_mode & 0o7777 == 0o755

    def test_a_content_that_is_too_large_is_refused_before_it_is_unpacked(
        self, base: Path, tmp_path: Path
    ) -> None:
        archive = packed([(member("bin/mongod"), script(COMMIT)), (member("zeros"), bytes(20_000_000))])
        limits = DownloadLimits(content=1_000_000, spare=0)
        assert failure(base, a_build(file_url(tmp_path, archive)), limits).fault is BuildFault.TOO_LARGE

    def test_a_header_that_is_too_large_is_not_read(self, base: Path, tmp_path: Path) -> None:
        archive = packed([(member("huge", tarfile.XHDTYPE), bytes(20_000_000))])
        error = failure(base, a_build(file_url(tmp_path, archive)))
        assert (error.fault, "too large" in str(error)) == (BuildFault.DAMAGED, True)

    def test_an_archive_that_was_damaged_before_it_was_compressed_is_refused(
        self, base: Path, tmp_path: Path
    ) -> None:
        content = bytearray(gzip.decompress(ARCHIVE))
        content[content.index(f"{TOP}/bin/mongos".encode())] ^= 0x55
        error = failure(base, a_build(file_url(tmp_path, gzip.compress(content))))
        assert error.fault is BuildFault.DAMAGED

    def test_too_many_files_are_refused(self, base: Path, tmp_path: Path) -> None:
        limits = DownloadLimits(members=3, spare=0)
        assert failure(base, a_build(file_url(tmp_path, ARCHIVE)), limits).fault is BuildFault.TOO_LARGE

    def test_data_after_its_end_is_refused(self, base: Path, tmp_path: Path) -> None:
        archive = ARCHIVE + gzip.compress(bytes(2_000_000))
        assert failure(base, a_build(file_url(tmp_path, archive))).fault is BuildFault.DAMAGED

    @each(
        "members",
        [
            [(member("LICENSE"), b"")],
            [(member("a/bin/mongod"), script(COMMIT)), (member("b/bin/mongod"), script(COMMIT))],
        ],
        ids=["none", "two"],
    )
    def test_it_has_one_program(
        self, base: Path, tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
    ) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        archive = file_url(tmp_path, packed(members))
        assert failure(base, a_build(archive)).fault is BuildFault.NO_PROGRAM


def older_script(modules: str) -> bytes:
    """A program that says its version as mongod does before version 4.4."""
    lines = ("db version v6.0.5", f"git version: {COMMIT}", f"modules: {modules}")
    return "\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in lines), ""]).encode()


class TestProgram:
    """The program says which build it is."""

    @each(
        ("program", "fault"),
        [
            (script("0" * 40), BuildFault.OTHER_COMMIT),
            (script(COMMIT, version="6.0.6"), BuildFault.OTHER_VERSION),
            (script(COMMIT, version="6.0"), BuildFault.OTHER_VERSION),
            (script(COMMIT, modules='"enterprise"'), BuildFault.OTHER_MODULES),
            (script(COMMIT, more="exit 3"), BuildFault.NOT_RUNNABLE),
            (script(COMMIT, more="trap 'exit 3' EXIT"), BuildFault.NOT_RUNNABLE),
            (script(COMMIT, more="yes"), BuildFault.NOT_RUNNABLE),
            (script(COMMIT, more="exit 0"), BuildFault.NOT_RUNNABLE),
            (b"\x7fELF", BuildFault.NOT_RUNNABLE),
            (b"", BuildFault.NOT_RUNNABLE),
        ],
    )
    def test_another_program_is_refused(
        self, base: Path, tmp_path: Path, program: bytes, fault: BuildFault
    ) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        archive = file_url(tmp_path, packed_build(program))
        assert failure(base, a_build(archive)).fault is fault

    @each(
        ("answer", "modules"),
        [
            (script(COMMIT), frozenset()),
            (script(COMMIT, modules='\\n        "enterprise"\\n    '), frozenset({"enterprise"})),
            (older_script("none"), frozenset()),
            (older_script("enterprise"), frozenset({"enterprise"})),
        ],
    )
    def test_its_answer_is_read_in_the_forms_of_all_versions(
        self, base: Path, tmp_path: Path, answer: bytes, modules: frozenset[str]
    ) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        url = file_url(tmp_path, packed_build(answer))
        builds_in(base).ensure(a_build(url, commit=COMMIT, modules=modules))

    @each("name", ["6.0.5", "6.0.5-ent", "v6.0.5", "our own", "6.0"])
    def test_the_numbers_in_the_name_of_the_version_are_compared(
        self, base: Path, tmp_path: Path, name: str
    ) -> None:
        builds_in(base).ensure(a_build(file_url(tmp_path, ARCHIVE), version=name))

    def test_a_build_that_was_changed_is_refused_and_stays(self, base: Path, tmp_path: Path) -> None:
        build = a_build(file_url(tmp_path, ARCHIVE))
        program = builds_in(base).ensure(build) / "bin" / "mongod"
        program.write_bytes(script("0" * 40))
        with pytest.raises(BuildError) as caught:
            builds_in(base).ensure(build)
        assert (caught.value.fault, program.exists()) == (BuildFault.OTHER_COMMIT, True)


def test_a_failure_has_no_secret_of_a_url() -> None:
    error = BuildError(BuildFault.UNREACHABLE, f"https://user:{SECRET}@127.0.0.1/a.tgz?token={SECRET} fails")
    assert str(error) == "https://******@127.0.0.1/a.tgz?****** fails"


def test_the_builds_of_a_document_have_the_names_of_their_versions(base: Path, tmp_path: Path) -> None:
    entries = {
        "6.0.5": [entry(url=file_url(tmp_path, ARCHIVE))],
        "6.0.6": [entry(url="file:///none")],
        "7.0.0": [],
    }
    machine = DocumentBuilds(builds_in(base), entries, LINUX)
    assert machine.present([*entries, "8.0.0"]) == frozenset()
    place = machine.ensure("6.0.5")
    assert machine.present([*entries, "8.0.0"]) == {"6.0.5"}
    assert machine.find("6.0.5") == place
    faults = {"6.0.6": BuildFault.FILES, "7.0.0": BuildFault.NO_BUILD, "8.0.0": BuildFault.NO_BUILD}
    for version, fault in faults.items():
        with pytest.raises(BuildError) as caught:
            machine.ensure(version)
        assert (caught.value.fault, machine.find(version)) == (fault, None)


class TestDirectory:
    """Where builds are."""

    @each("place", ["elsewhere", "allowed/../elsewhere", "link", "allowed-not"])
    def test_other_directories_than_the_allowed_are_not_written(self, tmp_path: Path, place: str) -> None:
        allowed, elsewhere = tmp_path / "allowed", tmp_path / "elsewhere"
        for directory in (allowed, elsewhere):
            directory.mkdir(exist_ok=True)
        if place == "link":
            (allowed / "link").symlink_to(elsewhere)
        base = allowed / "link" if place == "link" else tmp_path / place
        with pytest.raises(BuildError) as caught:
            Builds(base, [allowed]).ensure(a_build("file:///none"))
        assert caught.value.fault is BuildFault.DIRECTORY
        assert Builds(base, [allowed]).find(a_build("")) is None
        assert list(elsewhere.iterdir()) == []

    @each("base", [Path("downloads"), Path()], ids=str)
    def test_a_relative_directory_is_refused(self, base: Path) -> None:
        with pytest.raises(BuildError) as caught:
            Builds(base, [Path.cwd()]).ensure(a_build("file:///none"))
        assert caught.value.fault is BuildFault.DIRECTORY

    def test_a_file_in_its_place_fails(self, base: Path) -> None:
        machine = builds_in(base)
        base.touch()
        with pytest.raises(BuildError) as caught:
            machine.ensure(a_build("file:///none"))
        assert caught.value.fault is BuildFault.FILES

    @each("kind", ["link", "file", "directory"])
    def test_rubbish_of_an_interrupted_try_is_removed(self, base: Path, tmp_path: Path, kind: str) -> None:
        shutil.rmtree(base.parent, ignore_errors=True)
        kept = tmp_path / "kept"
        kept.mkdir(exist_ok=True)
        (kept / "data").touch()
        machine = builds_in(base)
        base.mkdir()
        if kind == "link":
            (base / UNFINISHED).symlink_to(kept)
        elif kind == "file":
            (base / UNFINISHED).touch()
        else:
            (base / UNFINISHED / "content").mkdir(parents=True)
        machine.ensure(a_build(file_url(tmp_path, ARCHIVE)))
        assert not os.path.lexists(base / UNFINISHED)
        assert (kept / "data").exists()

    def test_of_two_agents_at_once_one_downloads(self, base: Path, receiver: HttpReceiver) -> None:
        build = a_build(receiver.url())
        second: list[BuildFault] = []

        def behaviour(handler: http.server.BaseHTTPRequestHandler) -> None:
            try:
                builds_in(base).ensure(build)
            except BuildError as error:
                second.append(error.fault)
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + ARCHIVE)

        receiver.behave(behaviour)
        builds_in(base).ensure(build)
        assert second == [BuildFault.BUSY]
        assert builds_in(base).ensure(build)
        assert len(receiver.requests) == 1


MODULES = [build_faults, builds, directories, fetch, unpack]


@pytest.mark.slow
def test_an_agent_that_is_killed_at_any_line_leaves_a_whole_build_or_rubbish(
    base: Path, tmp_path: Path
) -> None:
    build = a_build(file_url(tmp_path, ARCHIVE))
    whole = builds_in(base).ensure(build)
    names = tree(whole)
    shutil.rmtree(base)
    lines = lines_of(MODULES, lambda: builds_in(base).ensure(build))
    assert len(lines) > 100
    for line in lines[:: 1 if LONG else 5]:
        shutil.rmtree(base)
        kill_at(line, MODULES, lambda: builds_in(base).ensure(build))
        if whole.exists():
            assert tree(whole) == names, line
        assert builds_in(base).ensure(build) == whole, line
        assert tree(whole) == names, line
        assert not (base / UNFINISHED).exists(), line
