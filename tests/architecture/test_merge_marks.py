"""No file has the marks of a merge that was not finished: tools check few of the kinds of files."""

import re

from tests.architecture.test_words import files
from tests.documents import name_of

MARK = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


def test_no_file_has_marks_of_a_merge() -> None:
    assert [name_of(path) for path in files() if MARK.search(path.read_text())] == []
