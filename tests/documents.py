"""The documents, and the shell blocks in them, for the tests that hold them to what is there.

A block is ```` ```sh ```` with what is to be done with it behind:

- `run`: typed by a test, in the order of the document; words behind it are waited for afterwards;
- `server`: starts the platform in a terminal of its own; the test's platform stands in for it;
- `title="…"`: belongs on another machine, or asks for a person; looked at, and not typed.
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
    """One fenced block: its language, what stands behind it, its lines, and where it begins."""

    language: str
    info: str
    text: str
    line: int

    @property
    def kind(self) -> str:
        """`run`, `server`, `title`, or whatever else its author wrote."""
        return self.info.split(" ")[0].split("=")[0]

    @property
    def words(self) -> str:
        """What is waited for after the block was typed."""
        return self.info.partition(" ")[2] if self.kind == "run" else ""


def documents() -> list[Path]:
    """Every document of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *DEPLOY.rglob("*.md")])


def name_of(path: Path) -> str:
    """As tests show it."""
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return list(_blocks(path.read_text()))


def shell_blocks(path: Path) -> list[Block]:
    """Those of the shell."""
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
