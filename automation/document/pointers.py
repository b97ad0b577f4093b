"""Places in the document as JSON Pointers (RFC 6901). Pure."""

from collections.abc import Iterable

_LONGEST_TOKEN = 200  # characters shown of a key: an answer must not be many times its question


def pointer(path: Iterable[str | int]) -> str:
    """`/processes/0/name`; the empty text is the document itself. Longer keys are cut short."""
    return "".join(f"/{_token(str(step))}" for step in path)


def steps(text: str) -> list[str]:
    """The keys and indexes a pointer is made of, as texts."""
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def shortened(step: str) -> str:
    """The key as it is shown: in full, up to 200 characters of it."""
    return step if len(step) <= _LONGEST_TOKEN else step[:_LONGEST_TOKEN] + "…"


def _token(step: str) -> str:
    return shortened(step).replace("~", "~0").replace("/", "~1")
