"""Texts on which searches for a pattern are slow: the price of a pattern is measured with them. Pure.

A pattern is slow on texts that nearly match it, so the texts consist of its own parts. This module reads
patterns only as far as this needs. The engine alone decides what a pattern matches.
"""

import string
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Final, NamedTuple

LONGEST_NAME: Final = 253
"""The characters of the longest host name (RFC 1035, section 2.3.4)."""

_HOST_NAMES = string.ascii_lowercase + string.digits + "-."
_CLASSES = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": " \t", "p": _HOST_NAMES}
_MOST_RUNS = 6
_NEAR_MATCHES = 18
_LONGEST_REPEAT = LONGEST_NAME
_TAIL = 20
_SMALL_CLASS = 6


class _Part(NamedTuple):
    """Characters to choose from, or a group; repeated `least` to `most` times."""

    content: "str | _Group"
    least: int = 1
    most: int = 1


_Group = list[list[_Part]]
"""The alternatives of a group, each a sequence of parts."""


def slow_texts(pattern: str) -> Iterator[Callable[[], str]]:
    """Yield functions that return texts of 253 characters; the texts of a function are similar.

    The functions and their texts are the same whenever the pattern is.
    """
    random = Random(pattern)  # noqa: S311 - texts that nobody has to guess
    whole, named = _read(pattern)
    characters = "".join(named) or _HOST_NAMES
    small = Counter(content for content in named if 1 < len(content) <= _SMALL_CLASS)
    classes = [content for content, _ in small.most_common(_MOST_RUNS)]
    common = [character for character, _ in Counter(characters).most_common(_MOST_RUNS)] or ["a"]
    for alphabet in dict.fromkeys(("".join(common[:2]), "".join(common), *classes, characters, _HOST_NAMES)):
        yield partial(_any_of, alphabet, LONGEST_NAME, random)
    for character in common:
        yield partial(_any_of, character, LONGEST_NAME, random)
    for place in range(_NEAR_MATCHES):
        beginning = _beginning(whole, random)
        tail = beginning[-1:] or common[0]
        rest = (tail, beginning[-_TAIL:] or tail, "".join(common[:2]))[place % 3]
        yield partial(_begun, beginning, rest, random)


def _begun(beginning: str, rest: str, random: Random) -> str:
    return beginning + _any_of(rest, LONGEST_NAME - len(beginning), random)


def _any_of(characters: str, length: int, random: Random) -> str:
    return "".join(random.choices(characters, k=length))


def _beginning(whole: _Group, random: Random) -> str:
    """Most of a text that the pattern matches."""
    characters: list[str] = []
    waiting = [_Part(whole)]
    while waiting and len(characters) < LONGEST_NAME:
        content, least, most = waiting.pop()
        count = random.choice((least, most, random.randint(least, most)))
        if isinstance(content, str):
            characters += random.choices(content, k=count) if content else ()
        elif count:
            if count > 1:
                waiting.append(_Part(content, count - 1, count - 1))
            waiting += reversed(random.choice(content))
    most = min(len(characters), LONGEST_NAME)
    return "".join(
        characters[: random.choice((most, most - 1, random.randint(0, most), random.randint(0, most // 4)))]
    )


def _read(pattern: str) -> tuple[_Group, list[str]]:
    """The parts of a pattern, and the characters and classes that it names."""
    open_groups: list[_Group] = [[[]]]
    named: list[str] = []
    place = 0
    while place < len(pattern):
        character = pattern[place]
        place += 1
        branch = open_groups[-1][-1]
        if character == "(":
            place = _after_flags(pattern, place)
            open_groups.append([[]])
        elif character == ")" and len(open_groups) > 1:
            closed = open_groups.pop()
            open_groups[-1][-1].append(_Part(closed))
        elif character == "|":
            open_groups[-1].append([])
        elif character in "*+?{":
            least, most, place = _repeat(pattern, place - 1)
            if branch:
                branch[-1] = branch[-1]._replace(least=least, most=most)
        else:
            content, place = _characters(pattern, place - 1)
            named.append(content)
            branch.append(_Part(content))
    while len(open_groups) > 1:
        closed = open_groups.pop()
        open_groups[-1][-1].append(_Part(closed))
    return open_groups[0], [content for content in named if content]


def _after_flags(pattern: str, place: int) -> int:
    """The place after `?:`, `?i:` or `?P<name>`."""
    if pattern[place : place + 1] != "?":
        return place
    ends = [end for mark in ":>)" if (end := pattern.find(mark, place)) >= 0]
    end = min(ends, default=len(pattern))
    return end if pattern[end : end + 1] == ")" else end + 1


def _repeat(pattern: str, place: int) -> tuple[int, int, int]:
    """The fewest and the most repeats, and the place after them."""
    short = {"*": (0, 20), "+": (1, 20), "?": (0, 1)}
    if pattern[place] in short:
        return (*short[pattern[place]], place + 1)
    end = pattern.find("}", place)
    least, comma, most = pattern[place + 1 : end].partition(",")
    if end < 0 or not least.isdecimal() or not (most.isdecimal() or not most):
        return 1, 1, place + 1
    fewest = min(int(least), _LONGEST_REPEAT)
    largest = min(int(most), _LONGEST_REPEAT) if most else fewest + (20 if comma else 0)
    return fewest, max(fewest, largest), end + 1


def _characters(pattern: str, place: int) -> tuple[str, int]:
    """The characters that a part of the pattern means, and the place after it."""
    character = pattern[place]
    if character == "[":
        return _class(pattern, place + 1)
    if character == "\\":
        escaped = pattern[place + 1 : place + 2]
        return _CLASSES.get(escaped.lower(), "" if escaped in "bBAzQE" else escaped), place + 2
    return {".": _HOST_NAMES, "^": "", "$": ""}.get(character, character), place + 1


def _class(pattern: str, place: int) -> tuple[str, int]:
    """The characters of a class, which begins after its bracket, and the place after it."""
    excludes = pattern[place : place + 1] == "^"
    place += excludes
    end = pattern.find("]", place + 1)
    if end < 0:
        return "[", place
    content = pattern[place:end]
    characters = set()
    for at, character in enumerate(content):
        last = content[at + 2 : at + 3]
        if content[at + 1 : at + 2] == "-" and last:
            characters |= {
                chr(code) for code in range(ord(character), min(ord(last), ord(character) + 127) + 1)
            }
        characters.add(character)
    if excludes:
        return "".join(character for character in _HOST_NAMES if character not in characters) or "_", end + 1
    return "".join(sorted(characters)), end + 1
