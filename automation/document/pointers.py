"""JSON Pointers into the document (RFC 6901). Pure."""

from collections.abc import Iterable

_LONGEST_TOKEN = (
    200  # Characters shown of a key, so that an answer is not many times larger than the request.
)


def pointer(path: Iterable[str | int]) -> str:
    """`/processes/0/name`; the empty text is the document itself. Long keys are cut."""
    return "".join(f"/{_token(str(step))}" for step in path)


def steps(text: str) -> list[str]:
    """The keys and indexes of a pointer, as texts."""
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def shortened(step: str) -> str:
    """The key for display, up to 200 characters."""
    return step if len(step) <= _LONGEST_TOKEN else step[:_LONGEST_TOKEN] + "…"


def _token(step: str) -> str:
    return shortened(step).replace("~", "~0").replace("/", "~1")
