"""Containers of the images that `make image` builds, run by Debian's podman as root."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.hostile.budget import LONG
from tests.processes.platform import ROOT

IMAGE = "localhost/opsapi"
HARDENED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--security-opt", "no-new-privileges")  # noqa: S108
"""As compose.yaml runs the platform."""
_BASE = "docker.io/library/debian:{suite}-slim"
_IN_BASE = () if LONG else ("ca-certificates", "postgresql-client-15", "python3-venv", "tini")
"""In `make faults`, the build installs all packages; otherwise the base has packages of several stages."""
_SLIM = (
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    '--aptopt=Acquire::Languages "none"',
)
"""What Debian's image leaves out."""
_INSTALLED = """
FROM {base}
RUN useradd --uid 10001 --create-home opsapi
COPY {wheel} /tmp/
RUN python3 -m venv /opt/opsapi && /opt/opsapi/bin/pip install --quiet '/tmp/{wheel}[embedded]'
USER opsapi
ENV OPSAPI_BIND=0.0.0.0:8000
ENTRYPOINT ["/opt/opsapi/bin/opsapi"]
"""
"""As the guide "Install the package" installs it, with the Python of the system."""
_LAYERS = () if LONG else ("--layers=false",)
"""`make faults` builds as `make image` does; otherwise no stage is packed but the last one."""
_CERTIFICATES = "/mnt/certificates.pem"
_INDEX_SETTINGS = frozenset(
    {"cert", "extra-index-url", "find-links", "index-url", "no-index", "trusted-host"}
)
# podman cannot work where both versions of control groups are mixed, or no process may raise its limits.
_OWN_MOUNTS = (
    'mount --bind "$0" /mnt && umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup'
    " && echo && exec sleep infinity"
)
_SHORT = Path("/mnt")
"""The directory as podman sees it. With a longer path, `podman run` waits 20 s after its container ended."""
_ENGINE = """
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=10000:10000", "nproc=10000:10000"]
[network]
network_config_dir = {networks}
"""
_STORAGE = """
[storage]
driver = "overlay"
graphroot = {images}
runroot = {state}
"""


class Podman:
    """podman with images, volumes and networks of its own in `directory`."""

    def __init__(self, directory: Path, namespace: int) -> None:
        """`namespace` is a process whose mounts podman sees."""
        self._directory = directory
        self._command = ["nsenter", f"--target={namespace}", "--mount", f"--wdns={ROOT}"]
        engine, storage = directory / "containers.conf", directory / "storage.conf"
        engine.write_text(_ENGINE.format(networks=json.dumps(str(_SHORT / "networks"))))
        storage.write_text(
            _STORAGE.format(
                images=json.dumps(str(_SHORT / "images")), state=json.dumps(str(_SHORT / "state"))
            )
        )
        self.environment: Mapping[str, str] = {
            **os.environ,
            "CONTAINERS_CONF": str(engine),
            "CONTAINERS_STORAGE_CONF": str(storage),
        }

    def command(self, program: str, *arguments: str) -> list[str]:
        """The command line that runs a program which sees podman's mounts; it needs `environment`."""
        return [*self._command, program, *arguments]

    def run(self, program: str, *arguments: str, check: bool = True, **variables: str) -> str:
        """Run a program that sees podman's mounts, and return what it wrote to stdout and stderr."""
        done = subprocess.run(
            self.command(program, *arguments),
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout
        return done.stdout

    def build(self) -> None:
        """Call `make image`, on a base of Debian's own packages and with this machine's package indexes."""
        self._import_base("bookworm", *_IN_BASE)
        self.run("make", "image", self.image_build)

    @property
    def image_build(self) -> str:
        """The variable of make with the command that builds an image."""
        return f"IMAGE_BUILD={' '.join([*self._build, '--file=deploy/container/Containerfile'])}"

    def install(self, suite: str, wheel: Path, context: Path) -> str:
        """Install the wheel with pip on this version of Debian, in the empty directory `context`.

        Return the name of the image.
        """
        base = self._import_base(suite, "ca-certificates", "python3-venv")
        shutil.copy(wheel, context)
        file, image = context / "Containerfile", f"localhost/opsapi-on-{suite}"
        file.write_text(_INSTALLED.format(base=base, wheel=wheel.name))
        self.run(*self._build, f"--file={file}", f"--tag={image}", str(context))
        return image

    @property
    def _build(self) -> list[str]:
        options = ["--isolation=chroot", "--pull=never", *_LAYERS, *self._indexes()]
        return ["podman", "build", "--format=docker", *options]

    def _import_base(self, suite: str, *packages: str) -> str:
        """Import a version of Debian with these packages under the name of its image, which is returned."""
        archive, name = self._directory / f"{suite}.tar", _BASE.format(suite=suite)
        included = [f"--include={','.join(packages)}"] if packages else []
        options = ["--variant=minbase", "--quiet", *_SLIM, *included]
        subprocess.run(["mmdebstrap", *options, suite, archive, "http://deb.debian.org/debian"], check=True)
        self.run("podman", "import", "--quiet", str(archive), name)
        return name

    def _indexes(self) -> list[str]:
        """The options that give a build pip's package indexes, with the directories that they name."""
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
        )
        values: dict[str, str] = {}
        for line in listed.stdout.splitlines():
            key, _, value = line.partition("=")
            name = key.rpartition(".")[2]
            if name in _INDEX_SETTINGS:
                # The environment comes first, and wins.
                values.setdefault(name, str(ast.literal_eval(value)))
        mounts = set()
        if certificates := values.get("cert"):
            mounts.add(f"--volume={Path(certificates).resolve()}:{_CERTIFICATES}:ro")
            values["cert"] = _CERTIFICATES
        for word in " ".join(values.values()).split():
            # The pages of an index may link to files next to its directory.
            path = Path(word.removeprefix("file://")).parent if word.startswith("file://") else Path(word)
            if path.is_dir() and path.is_absolute():
                mounts.add(f"--volume={path}:{path}:ro")
        settings = self._directory / "pip.conf"
        lines = ["[global]", *(f"{name} = {text}" for name, text in values.items())]
        settings.write_text("".join(f"{line}\n" for line in lines))
        return [*sorted(mounts), f"--volume={settings}:/etc/pip.conf:ro"]


@contextmanager
def engine(directory: Path) -> Iterator[Podman]:
    """An engine in `directory`, which must be empty; it ends with all of its containers."""
    command = ["unshare", "--mount", "--propagation=private", "sh", "-c", _OWN_MOUNTS, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as namespace:
        assert namespace.stdout is not None
        assert namespace.stdout.read(1) == b"\n"
        made = Podman(directory, namespace.pid)
        try:
            yield made
        finally:
            made.run("podman", "rm", "--all", "--force", "--time=10", check=False)
            made.run("podman", "network", "prune", "--force", check=False)
            namespace.kill()
