"""Whatever the documents name exists: files, anchors, commands and their options, targets, settings."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from automation.agent.settings import NAMES
from opsapi.documents.rendering import DIAGRAM, diagram_title, picture_name
from opsapi.environment import READ
from tests.architecture.test_names import PACKAGES
from tests.browser import upgrade_pictures
from tests.deployment import HOME
from tests.documents import DEPLOY, ROOT, Block, blocks, documents, name_of, prose, shell_blocks
from tests.each import each

PICTURES = ROOT / "docs" / "pictures"
UPGRADE = ROOT / "docs" / "how-to" / "upgrade-a-replica-set.md"
KINDS = {"run", "server", "title"}
TYPED = {
    "README.md": "test_readme.py",
    "docs/quickstart.md": "test_readme.py",
    "docs/how-to/back-up-and-restore.md": "test_how_to.py",
    "docs/how-to/rotate-keys.md": "test_how_to.py",
    "docs/how-to/create-a-replica-set.md": "automation/test_replica_set_pages.py",
    "docs/how-to/upgrade-a-replica-set.md": "automation/test_replica_set_pages.py",
}
"""Which test of `tests/processes` types the blocks of which document."""
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
INLINE = re.compile(r"`([^`\n]+)`")
MANAGE = re.compile(r"manage\.py ((?:[^\n'`)|]|'[^'\n]*')+)")
MAKE = re.compile(r"(?:^|[ ;])make(?: -C \S+)? ([a-z][a-z-]*)", re.MULTILINE)
SETTING = re.compile(r"\b(OPSAPI_[A-Z0-9_]+|PROMETHEUS_MULTIPROC_DIR|DATABASE_URL|SECRET_KEY|EMAIL_URL)=")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
MODULE = re.compile(r"^(?:[\w-]+/)*\w+\.py$")
"""A module, by its path or by the end of it."""
OUR_PATH = re.compile(r"^\.?(?:\w[\w-]*/)+(?:[\w-]+\.[a-z]+)?$")
MADE_LATER = ("var/",)
"""By the platform itself, and by `make screenshots`."""

each_document = each("path", documents(), ids=name_of)


@each_document
def test_every_link_leads_somewhere(path: Path) -> None:
    missing = [link for link in links(path) if not leads_somewhere(path, link)]
    assert missing == []


def test_every_picture_of_the_upgrade_is_taken_and_shown() -> None:
    shown = re.findall(r"screenshots/(upgrade-\d+\.png)", UPGRADE.read_text())
    assert shown == [f"upgrade-{number}.png" for number in range(1, upgrade_pictures.PICTURES + 1)]
    assert {path.name for path in upgrade_pictures.DIRECTORY.glob("upgrade-*")} == set(shown)


@each_document
def test_every_shell_block_says_what_is_to_be_done_with_it(path: Path) -> None:
    assert [block.line for block in shell_blocks(path) if block.kind not in KINDS] == []
    unmarked = {"bash", "shell", "console", ""} & {block.language for block in blocks(path)}
    assert unmarked == set()


def test_every_document_with_blocks_to_type_has_a_test_that_types_them() -> None:
    typed = {
        name_of(path) for path in documents() if any(block.kind == "run" for block in shell_blocks(path))
    }
    assert typed == TYPED.keys()
    for document, test in TYPED.items():
        assert Path(document).name in (ROOT / "tests" / "processes" / test).read_text()


@each_document
def test_every_shell_block_is_well_formed(path: Path) -> None:
    for block in shell_blocks(path):
        checked = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, f"line {block.line}: {checked.stderr}"


@each_document
def test_every_command_exists_with_its_options(path: Path) -> None:
    assert [command for command in commands(path) if not is_a_command(command)] == []


@each_document
def test_every_make_target_exists(path: Path) -> None:
    assert set(MAKE.findall("\n".join(typed_texts(path)))) - TARGETS == set()


@each_document
def test_every_setting_that_is_set_exists(path: Path) -> None:
    named = {name for block in blocks(path) for name in SETTING.findall(block.text)}
    assert {name for name in named if not name.startswith("OPSAPI_TEST_")} <= READ.keys() | NAMES


@each_document
def test_every_file_of_ours_exists(path: Path) -> None:
    said = [name for name in INLINE.findall(prose(path)) if OUR_PATH.match(name)]
    ours = [name for name in said if (ROOT / name.split("/")[0]).is_dir() and not name.startswith(MADE_LATER)]
    assert [name for name in ours if not (ROOT / name).exists()] == []
    for block in shell_blocks(path):
        for name in re.findall(rf"{HOME}/deploy/([\w@.-]+\w)", block.text):
            assert list(DEPLOY.glob(name)), name


@pytest.mark.slow
@each_document
def test_every_module_that_is_named_exists(path: Path) -> None:
    named = {name for text in INLINE.findall(prose(path)) for name in MODULE.findall(text)}
    assert {name for name in named if not modules_named(name)} == set()


def test_every_diagram_has_a_title_and_a_picture_and_every_picture_a_diagram() -> None:
    found = [diagram for path in documents() for diagram in DIAGRAM.findall(path.read_text())]
    assert all(diagram_title(diagram) for diagram in found)
    assert {picture_name(diagram) for diagram in found} == {path.name for path in PICTURES.glob("diagram-*")}


def test_pictures_have_no_script_and_no_style_which_their_policy_would_refuse() -> None:
    refused = re.compile(r"<script|<style|\s(?:style|href|xlink:href|on\w+)=")
    for path in PICTURES.iterdir():
        assert not refused.search(path.read_text()), path.name


@cache
def modules_named(name: str) -> list[Path]:
    """The modules with this path, or with a path that ends like this."""
    return [
        *ROOT.glob(name),
        *(path for package in (*PACKAGES, "tests") for path in ROOT.glob(f"{package}/**/{name}")),
    ]


def links(path: Path) -> Iterator[str]:
    """What a document links to."""
    for target, attribute in LINK.findall(prose(path)):
        yield target or attribute


def leads_somewhere(path: Path, link: str) -> bool:
    """A file of the project, or a heading in one; other hosts are not asked."""
    if link.startswith(("https://", "http://")):
        return True
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.is_relative_to(ROOT):
        return False
    if not target.exists():
        return name_of(target).startswith(MADE_LATER)
    return not anchor or anchor in anchors(target)


def anchors(path: Path) -> set[str]:
    """The names that forges give a document's headings."""
    headings = re.findall(r"^#+ +(.+?) *$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def typed_texts(path: Path) -> Iterator[str]:
    """What somebody may type: blocks of the shell, and commands in the text."""
    yield from (block.text for block in blocks(path) if is_shell(block))
    yield from (text for text in INLINE.findall(prose(path)) if text.startswith(("make ", "manage.py ")))


def is_shell(block: Block) -> bool:
    return block.language == "sh"


def commands(path: Path) -> Iterator[list[str]]:
    """Each `manage.py` command with its arguments."""
    for text in typed_texts(path):
        for line in text.replace("\\\n", " ").splitlines():
            yield from (shlex.split(found.split("#")[0]) for found in MANAGE.findall(line))


def is_a_command(command: list[str]) -> bool:
    name, *rest = command
    if name not in get_commands():
        return False
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    known = set(parser._option_string_actions)
    options = {word.split("=")[0] for word in rest if word.startswith("-")}
    return options <= known
