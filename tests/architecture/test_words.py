"""Documents, modules and tests use the words of the glossary: `words.toml` lists the old words."""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import ROOT, name_of
from tests.each import each

LIST = Path(__file__).with_name("words.toml")
RULES = tomllib.loads(LIST.read_text())
INSTEAD = {old: rule["new"] for rule in RULES["instead"] for old in rule["old"]}
"""Old word → what to write instead."""
OLD = re.compile(
    r"(?<![\w-])("
    + "|".join(re.escape(old).replace(r"\ ", r"\s+") for old in sorted(INSTEAD, key=len, reverse=True))
    + r")(?![\w-])",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w-]+")
NEEDED = [set(_WORD.findall(old.lower())) for old in INSTEAD]
"""The words of each old word, which may be a phrase: all of them are in a file that uses it."""
CODE = re.compile(r"^( *)```.*?^ *```$|````.*?````|`[^`]*`|\]\([^)]*\)|<[^>\n]+>", re.MULTILINE | re.DOTALL)
NO_PROSE = {".gz", ".json", ".txt", ".woff2"}
COMMENT = re.compile(r"^[ \t]*#(.*)$|\{#(.*?)#\}", re.MULTILINE)


def files() -> list[Path]:
    """Every file of `paths`, sorted, without data files and texts, which quote others."""
    named = [ROOT / path for path in RULES["paths"]]
    found = [file for path in named for file in (path.rglob("*") if path.is_dir() else [path])]
    written = (file for file in found if file.suffix not in NO_PROSE and "__pycache__" not in file.parts)
    return sorted(file for file in written if file.is_file())


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file that people read, each with the number of its first line."""
    text = path.read_text()
    if path.suffix == ".md":
        yield 1, text
    elif path.suffix == ".py":
        yield from docstrings(text)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    else:
        for match in COMMENT.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[1] or match[2] or ""


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Every string that is a statement: docstrings of modules, classes, functions and constants."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value


def old_words(path: Path) -> list[str]:
    """Each old word in the file, with its line and the words to use instead."""
    words = set(_WORD.findall(path.read_text().lower()))
    if not any(needed <= words for needed in NEEDED):
        return []  # what people read in it need not be found
    return [
        f"{name_of(path)}:{line + text.count(chr(10), 0, match.start())}: {match[0]!r} → {instead(match[0])}"
        for line, text in prose(path)
        for match in OLD.finditer(without_code(text))
    ]


def instead(word: str) -> str:
    """What to write instead."""
    return str(INSTEAD[" ".join(word.lower().split())])


def without_code(text: str) -> str:
    """The text with blanks in place of code and links; line breaks stay."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


@pytest.mark.slow
@each("path", files(), ids=name_of)
def test_it_uses_no_old_word(path: Path) -> None:
    assert old_words(path) == []


def test_every_path_exists() -> None:
    assert [path for path in RULES["paths"] if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.md", "It is\ntold once.", [2]),
        ("a.md", "`told` and [a link](told.md)\n\n```sh\necho told\n```\n\ntold", [7]),
        ("a.md", "Storyboards, standby, foretold.", []),
        ("a.py", '"""Told."""\n\ntold = "told"  # told\n', [1, 3]),
        ("a.conf", "# told\ntold;\n", [1]),
    ],
)
def test_it_finds_old_words_outside_of_code(
    name: str, text: str, lines: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.documents.ROOT", tmp_path)
    (tmp_path / name).write_text(text)
    assert [int(word.split(":")[1]) for word in old_words(tmp_path / name)] == lines
