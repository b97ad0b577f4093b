"""The package, built and installed outside of the checkout: one command starts the platform."""

import hashlib
import os
import re
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from opsapi import VERSION
from opsapi.documents.library import Library
from opsapi.program import COMMAND
from opsapi.setup_link import CREATE_KEY, first_project_call
from tests.documents import shell_blocks
from tests.processes.newcomer import (
    QUICKSTART,
    README,
    assert_quickstart,
    here,
    log_in,
    login_page_commands,
    second_terminal,
    server_environment,
    type_document,
)
from tests.processes.platform import ROOT, RunningPlatform, installation
from tests.processes.terminal import Terminal

pytestmark = pytest.mark.processes
_PACKAGES = {"opsapi", "accesslist", "alerting", "automation", "events", "integrations"}


def _built(directory: Path, target: str, source: Path = ROOT) -> Path:
    """The file that hatchling builds from the checkout, or from `source`."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(directory)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1577836800"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    (built,) = directory.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    return _built(tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive."""
    return _built(tmp_path_factory.mktemp("archive"), "sdist")


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `opsapi` of an environment that holds the wheel; dependencies come from this one."""
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory, with_pip=False, symlinks=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pip", "--python", str(directory / "bin" / "python"), "install"]
    subprocess.run([*command, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    (packages / "dependencies.pth").write_text(f"{site.getsitepackages()[0]}\n")
    return directory / "bin" / "opsapi"


@pytest.fixture
def installed(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningPlatform]:
    """A platform of the installed package, with nothing set but its port and its user's state directory."""
    monkeypatch.chdir(tmp_path)
    with installation() as platform:
        platform.program = [str(program)]
        platform.data_dir = platform.directory / "opsapi"
        platform.environment = {
            "XDG_STATE_HOME": str(platform.directory),
            "PATH": os.environ["PATH"],
            "OPSAPI_BIND": f"127.0.0.1:{platform.port}",
        }
        yield platform


def test_two_builds_are_the_same_bytes(tmp_path: Path, archive: Path) -> None:
    again = _built(tmp_path / "again", "sdist")
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(archive.read_bytes()).digest()


def test_the_source_archive_has_what_the_wheel_is_built_from(
    tmp_path: Path, wheel: Path, archive: Path
) -> None:
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path, "--no-same-owner"], check=True)
    built = _built(tmp_path / "wheel", "wheel", tmp_path / archive.name.removesuffix(".tar.gz"))
    assert built.read_bytes() == wheel.read_bytes()


def test_the_wheel_has_the_packages_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == _PACKAGES | {f"opsapi-{VERSION}.dist-info"}
    assert {"opsapi/files/.env.example", "opsapi/files/deploy/nginx.conf"} <= set(names)
    pictures = {name.removeprefix("opsapi/files/docs/") for name in names if "screenshots" in name}
    assert pictures <= Library(ROOT).files.keys()  # Documents show them.


def test_the_wheel_has_all_documents(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    shipped, checkout = Library(tmp_path / "opsapi" / "files"), Library(ROOT)
    assert shipped.pages.keys() == checkout.pages.keys()
    assert shipped.files.keys() == checkout.files.keys()
    assert shipped.navigation() == checkout.navigation()


def test_the_wheel_has_its_bill_of_materials(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        bill = packed.read(f"opsapi-{VERSION}.dist-info/sboms/sbom.cdx.json")
    assert bill == (ROOT / "sbom.cdx.json").read_bytes()


def test_every_tool_builds_the_same_wheel_from_a_fresh_clone(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("a source archive has no history to clone")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, clone], check=True)
    python = [sys.executable, "-m"]
    pip = [*python, "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    commands: dict[str, list[str | Path]] = {
        "path": [*pip, "--wheel-dir", tmp_path / "path", clone],
        "git": [*pip, "--wheel-dir", tmp_path / "git", f"git+file://{clone}"],
        "build": [*python, "build", "--no-isolation", "--outdir", tmp_path / "build", clone],
    }
    built = {}
    for name, command in commands.items():
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1577836800"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        (file,) = (tmp_path / name).glob("*.whl")
        built[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    assert len(set(built.values())) == 1, built
    assert list((tmp_path / "build").glob("*.tar.gz"))


def test_one_command_starts_it_and_the_quickstart_works(installed: RunningPlatform, tmp_path: Path) -> None:
    installed.environment |= server_environment(QUICKSTART)
    installed.start()
    assert (installed.data_dir / "postgres").is_dir()
    assert not list(Path.cwd().iterdir())  # nothing is written to the current directory
    with second_terminal(installed, installed.directory / "terminal", tmp_path) as terminal:
        password = _set_up_by_script(terminal, installed)
        assert_quickstart(type_document(QUICKSTART, terminal, installed), terminal.text)
    assert log_in(installed, "ada", password) == 302
    assert installed.get("/agents/v1.0/opsapi-agent.pyz").status_code == 200
    assert "<h1>Install the package</h1>" in installed.get("/docs/how-to/install.html").text
    assert installed.stop() == 0


def _set_up_by_script(terminal: Terminal, platform: RunningPlatform) -> str:
    """By the README's lines for scripts: the first user ada, whose password this returns."""
    (script,) = (block.text for block in shell_blocks(README) if block.kind == "title")
    bootstrap, project = script.strip().splitlines()
    assert project == first_project_call("http://127.0.0.1:8000/api/public/v1.0")
    (password,) = re.findall(r"(?m)^password +(\S+)$", terminal.run(here(bootstrap, platform)))
    assert log_in(platform, "ada", password) == 403
    assert login_page_commands(platform) == [CREATE_KEY.replace(COMMAND, "opsapi"), here(project, platform)]
    terminal.run(here(project, platform))
    return str(password)


def test_it_says_its_version_and_what_it_can_do(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"opsapi {VERSION}\n"
    overview = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert "usage: opsapi <command>" in overview
    assert not list(tmp_path.iterdir())  # asking for help creates nothing


def test_setup_writes_what_a_server_needs_and_overwrites_nothing(program: Path, tmp_path: Path) -> None:
    target = tmp_path / "conf"
    subprocess.run([program, "setup", target], check=True, capture_output=True)
    python = program.parent / "python"
    assert f"ExecStart={python} -P -m opsapi run_worker" in (target / "opsapi-worker@.service").read_text()
    assert (target / "opsapi.env").stat().st_mode & 0o777 == 0o600
    assert not any("/opt/opsapi" in path.read_text() for path in target.glob("*.service"))
    (target / "nginx.conf").unlink()
    again = subprocess.run([program, "setup", target], capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "opsapi.env" in again.stderr
    assert not (target / "nginx.conf").exists()


def test_it_reads_settings_from_its_data_directory(program: Path, tmp_path: Path) -> None:
    (tmp_path / "opsapi").mkdir()
    (tmp_path / "opsapi" / "opsapi.env").write_text("OPSAPI_BIND=nowhere\n")
    environment = {"XDG_STATE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    refused = subprocess.run([program, "check"], env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("ImproperlyConfigured: OPSAPI_BIND: 'nowhere'")
