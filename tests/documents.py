"""The documents and their shell blocks, for tests that compare them with the platform.

The info string of a block, after ```` ```sh ````, says what a test does with it:

- `run`: the test types it, in the order of the document, and then waits for the words after `run`;
- `server`: it starts the platform in another terminal; the test uses its own platform;
- `title="…"`: it is for another machine, or needs a person; the test does not type it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
_OPENING = re.compile(r"^( *)```(\S*) *(.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its info string, its lines, and its first line number."""

    language: str
    info: str
    text: str
    line: int

    @property
    def kind(self) -> str:
        """The first word of the info string: `run`, `server` or `title`."""
        return self.info.split(" ")[0].split("=")[0]

    @property
    def words(self) -> str:
        """The words that appear after the block was typed."""
        return self.info.partition(" ")[2] if self.kind == "run" else ""


def documents() -> list[Path]:
    """Every document of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *DEPLOY.rglob("*.md")])


def name_of(path: Path) -> str:
    """The path from the root of the project."""
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return list(_blocks(path.read_text()))


def shell_blocks(path: Path) -> list[Block]:
    """The shell blocks of a document."""
    return [block for block in blocks(path) if block.language == "sh"]


def prose(path: Path) -> str:
    """A document without its blocks."""
    text, kept, inside = path.read_text(), [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        if not fence and not inside:
            kept.append(line)
        inside = inside != fence
    return "\n".join(kept)


def _blocks(text: str) -> Iterator[Block]:
    opening: re.Match[str] | None = None
    began, held = 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if opening is None:
            opening, began, held = _OPENING.match(line), number, []
        elif line.strip() == "```":
            yield Block(opening[2], opening[3].strip(), "".join(held), began)
            opening = None
        else:
            held.append(line.removeprefix(opening[1]) + "\n")
