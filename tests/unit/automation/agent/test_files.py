"""The limit of open files."""

import resource

from automation.agent.__main__ import allow_most_files


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before, most) - 1, most))
    try:
        allow_most_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
