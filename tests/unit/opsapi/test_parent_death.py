"""What a child that dies with its parent does with the signal for that."""

import signal
import subprocess
from collections.abc import Iterator

import pytest

from opsapi.libc import dying_with_parent


@pytest.fixture
def ignoring_sigint() -> Iterator[None]:
    """A process in the background of a shell ignores SIGINT, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ignoring_sigint")
def test_a_child_takes_the_signal_that_its_parent_ignores() -> None:
    before_exec = dying_with_parent(signal.SIGINT)
    child = subprocess.Popen(["sleep", "600"], preexec_fn=before_exec)  # noqa: PLW1509 what is tested
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == -signal.SIGINT
