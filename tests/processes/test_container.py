"""`deploy/container/`: the images, built from Debian's packages and the wheel, and run by podman."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from requests.auth import HTTPDigestAuth

from opsapi import VERSION
from opsapi.api.links import PUBLIC
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.containers import HARDENED, IMAGE, Podman, engine
from tests.processes.newcomer import log_in, set_up
from tests.processes.platform import ROOT, RunningPlatform, free_port, installation
from tests.processes.released import TAG, tagged_clone

pytestmark = [pytest.mark.processes, pytest.mark.container]
COMPOSE = "deploy/container/compose.yaml"


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """podman with both images."""
    directory = tmp_path_factory.mktemp("podman")
    with engine(directory) as made:
        made.build()
        yield made
    shutil.rmtree(directory)  # half a gigabyte


@pytest.fixture(scope="module")
def contained(podman: Podman) -> Iterator[RunningPlatform]:
    """A platform in a container named `opsapi`, with nothing set but the port at which it is reached.

    It runs: its first start takes as long as the build of an image.
    """
    with installation() as platform:
        volume = f"data-{platform.port}:/var/lib/opsapi"
        published = f"127.0.0.1:{platform.port}:8000"
        public = f"--env=OPSAPI_PUBLIC_URL={platform.base_url}"
        options = ["--rm", "--name=opsapi", f"--publish={published}", f"--volume={volume}", public]
        platform.program = podman.command("podman", "run", *HARDENED, *options, IMAGE)
        platform.environment = dict(podman.environment)
        platform.start()
        yield platform
        assert platform.stop() == 0


def test_the_platform_runs_without_root_on_a_read_only_file_system(
    podman: Podman, contained: RunningPlatform
) -> None:
    assert podman.run("podman", "exec", "opsapi", "id", "--user").strip() == "10001"
    assert "Read-only file system" in podman.run(
        "podman", "exec", "opsapi", "touch", "/opt/opsapi/x", check=False
    )
    podman.run("podman", "healthcheck", "run", "opsapi")
    podman.run("podman", "exec", "opsapi", "opsapi", "backup", "/var/lib/opsapi/backup")
    assert contained.is_up


def test_the_image_has_the_bill_of_materials(podman: Podman) -> None:
    file = f"/opt/opsapi/lib/python3.11/site-packages/opsapi-{VERSION}.dist-info/sboms/sbom.cdx.json"
    options = ["--rm", "--network=none", "--no-healthcheck", "--entrypoint=cat"]
    shown = podman.run("podman", "run", *options, IMAGE, file)
    assert (ROOT / "sbom.cdx.json").read_text() in shown  # podman may add a warning


def test_a_new_container_finds_the_data_of_the_old(contained: RunningPlatform) -> None:
    password = set_up(contained)
    assert contained.stop() == 0
    contained.start()
    assert log_in(contained, "ada", password) == 302


@pytest.mark.skipif(not LONG, reason="installs another Debian: make faults")
def test_the_wheel_runs_on_the_next_version_of_debian(podman: Podman, tmp_path: Path) -> None:
    (wheel,) = (ROOT / "dist").glob("*.whl")  # which the images contain
    image, name = podman.install("trixie", wheel, tmp_path), "opsapi-on-trixie"
    with installation() as platform:
        published = f"--publish=127.0.0.1:{platform.port}:8000"
        public = f"--env=OPSAPI_PUBLIC_URL={platform.base_url}"
        platform.program = podman.command("podman", "run", "--rm", f"--name={name}", published, public, image)
        platform.environment = dict(podman.environment)
        platform.start()
        assert "Python 3.13." in podman.run("podman", "exec", name, "/opt/opsapi/bin/python", "--version")
        assert log_in(platform, "ada", set_up(platform)) == 302
        assert platform.stop() == 0


@pytest.mark.skipif(not LONG, reason="builds the images once more: make faults")
def test_a_release_has_both_images(podman: Podman, tmp_path: Path) -> None:
    clone = tagged_clone(tmp_path / "clone")
    build = podman.image_build.replace(" ", "\\ ")
    release = [sys.executable, "-m", "tools.release", TAG]
    printed = podman.run("env", f"--chdir={clone}", *release, MAKEFLAGS=f" -- {build}")
    assert "without images" not in printed
    images = f"opsapi-{VERSION}-images.tar"
    assert images in (clone / "release" / TAG / "SHA256SUMS").read_text()
    loaded = podman.run("podman", "load", "--input", str(clone / "release" / TAG / images))
    assert all(f"{name}:{VERSION}" in loaded for name in (IMAGE, f"{IMAGE}-database"))
    assert VERSION in podman.run("podman", "run", "--rm", f"{IMAGE}:{VERSION}", "--version")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("OPSAPI_WORKERS=many", "OPSAPI_WORKERS: 'many'"),
        ("DATABASE_URL=postgresql://ada:hunter2@127.0.0.1:1/ops", "the database cannot be reached"),
    ],
    ids=["a wrong setting", "no database"],
)
def test_a_refused_start_gives_the_reason_as_the_last_line(podman: Podman, setting: str, reason: str) -> None:
    options = ["--rm", "--network=none", f"--env={setting}"]
    refused = subprocess.run(
        podman.command("podman", "run", *HARDENED, *options, IMAGE),
        env=podman.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode not in (0, 125, 126, 127), refused.stderr  # these are podman's own
    assert reason in refused.stderr.splitlines()[-1]
    assert "hunter2" not in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_health_check_fails_if_nothing_answers(podman: Podman) -> None:
    check = ["run", "--rm", "--entrypoint=python", IMAGE, "/usr/local/bin/healthcheck"]
    failed = subprocess.run(
        podman.command("podman", *check), env=podman.environment, capture_output=True, check=False
    )
    assert failed.returncode == 1


class Compose:
    """The services of compose.yaml, reached at a port of their own."""

    def __init__(self, podman: Podman) -> None:
        self._podman = podman
        self._address = f"127.0.0.1:{free_port()}"

    def up(self) -> None:
        """Start all services, and wait until the platform is ready."""
        self._call("up", "-d")
        eventually(self._is_ready, message="ready")

    def down(self) -> None:
        """Remove the containers, and keep the volumes."""
        self._call("down")

    def status(self, public_key: str, private_key: str) -> int:
        """The status of an API call with this key."""
        auth = HTTPDigestAuth(public_key, private_key)
        return requests.get(f"http://{self._address}{PUBLIC}/groups", auth=auth, timeout=60).status_code

    def _call(self, *arguments: str) -> None:
        self._podman.run("podman-compose", "--file", COMPOSE, *arguments, PUBLISH=self._address)

    def _is_ready(self) -> bool:
        try:
            return requests.get(f"http://{self._address}/health/ready", timeout=60).status_code == 200
        except requests.RequestException:
            return False


def test_compose_runs_the_platform_on_a_postgresql_that_keeps_its_data(podman: Podman) -> None:
    compose = Compose(podman)
    compose.up()
    name = podman.run(
        "podman", "ps", "--filter=label=com.docker.compose.service=platform", "--format={{.Names}}"
    )
    exec_ = ["exec", name.strip()]
    created = podman.run("podman", *exec_, "opsapi", "bootstrap", "--access-list", "0.0.0.0/0")
    key = re.findall(r"(?m)^(?:public|private) key +(\S+)$", created)
    podman.run("podman", *exec_, "opsapi", "backup", "/var/lib/opsapi/backup")
    refused = podman.run("podman", *exec_, "psql", "-h", "/run/postgresql", "-U", "postgres", check=False)
    assert "Peer authentication failed" in refused
    compose.down()
    compose.up()
    assert compose.status(*key) == 200
    compose.down()
