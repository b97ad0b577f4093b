"""What a process holds after large documents (`opsapi.libc`)."""

import platform
import subprocess
import sys

import pytest

_HOLDS = """
import threading
from pathlib import Path
from opsapi.libc import return_large_blocks

MIB = 1024 * 1024

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / MIB

def work(together):
    for _ in range(3):
        blocks = [b"x" * (size * MIB) for size in (8, 12, 16)]
        together.wait()
        del blocks

return_large_blocks()
before, together = held(), threading.Barrier(4)
threads = [threading.Thread(target=work, args=[together]) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(held() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_large_blocks_go_back_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HOLDS], check=True, capture_output=True, text=True, timeout=120
    )
    assert float(done.stdout) < 10
