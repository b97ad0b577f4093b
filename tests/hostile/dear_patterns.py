"""Patterns built to be dear, with texts that suit them: a search for the dearest that is accepted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from alerting.configs.pattern_prices import price_fault, search_time
from alerting.configs.pattern_texts import LONGEST_NAME
from alerting.configs.patterns import MAX_REGEX_LENGTH, compile_regex

_LETTERS = "abxz019-."
_WARMING, _COUNTED = 4, 3
_TEXTS_OF_A_PATTERN = 6
_CHANGES = 3

TextOfPattern = Callable[[Random], str]
"""Returns a text that a part of a pattern matches."""


@dataclass(frozen=True, slots=True)
class BuiltPattern:
    """A part of a pattern, and texts that it matches."""

    pattern: str
    sample: TextOfPattern


@dataclass(frozen=True, slots=True)
class DearPattern:
    """A pattern that is accepted, and the processor time of a search in a text that suits it, in seconds."""

    pattern: str
    ignore_case: bool
    seconds: float


Price = Callable[[str, bool, Callable[[], float]], str | None]
"""Says why a pattern is refused, as `price_fault`."""


def dearest_accepted(tries: int, seed: int, price: Price = price_fault) -> DearPattern:
    """The dearest of so many patterns that are accepted. Every second pattern is a change of the dearest."""
    random = Random(seed)
    best = DearPattern("a", False, 0.0)
    kept = [_part(random, 3)]
    for place in range(tries):
        part = _changed(random.choice(kept), random) if place % 2 else _part(random, 4)
        found = _measured(part, random, price)
        if found and found.seconds > best.seconds:
            best = found
            kept = [*kept[-_CHANGES:], part]
    return best


def built_pattern(random: Random) -> str:
    """A random pattern, which may be refused."""
    return _part(random, 4).pattern


def _measured(part: BuiltPattern, random: Random, price: Price) -> DearPattern | None:
    """The dearest text for a pattern; None if the pattern is refused."""
    ignore_case = random.random() < 0.5
    if len(part.pattern) > MAX_REGEX_LENGTH:
        return None
    try:
        regex = compile_regex(part.pattern, ignore_case)
    except ValueError:
        return None
    if price(part.pattern, ignore_case, time.thread_time):
        return None
    dearest = 0.0
    for _ in range(_TEXTS_OF_A_PATTERN):
        beginning, fill = _beginning(part, random), random.choice(("a", "ab", "abx01", _LETTERS))
        texts = [_filled(beginning, fill, random) for _ in range(_WARMING + _COUNTED)]
        for text in texts[:_WARMING]:
            regex.search(text)
        counted = min(search_time(regex, text, time.thread_time) for text in texts[_WARMING:])
        dearest = max(dearest, counted)
    return DearPattern(part.pattern, ignore_case, dearest)


def _beginning(part: BuiltPattern, random: Random) -> str:
    text = part.sample(random)[:LONGEST_NAME]
    return text[: random.choice((0, 1, len(text) // 2, max(0, len(text) - 1)))]


def _filled(beginning: str, fill: str, random: Random) -> str:
    return beginning + "".join(random.choices(fill, k=LONGEST_NAME - len(beginning)))


# --- patterns -------------------------------------------------------------------------------------


def _part(random: Random, depth: int) -> BuiltPattern:
    if depth == 0:
        return _atom(random)
    return random.choice((_atom, _sequence, _alternatives, _repeated, _window, _counts, _gate))(random, depth)


def _atom(random: Random, depth: int = 0) -> BuiltPattern:
    kind = random.randrange(4)
    letter = random.choice(_LETTERS)
    if kind == 0:
        return BuiltPattern(letter.replace(".", r"\."), lambda _: letter)
    if kind == 1:
        chosen = "".join(sorted(random.sample(_LETTERS.replace("-", ""), random.randint(2, 5))))
        return BuiltPattern(f"[{chosen}]", lambda other: other.choice(chosen))
    if kind == 2:
        excluded = random.choice("xyz")
        return BuiltPattern(f"[^{excluded}]", lambda other: other.choice("ab01"))
    pattern = random.choice((".", r"\w", r"[a-z0-9]", "[ab]"))
    return BuiltPattern(pattern, lambda other: other.choice("ab"))


def _sequence(random: Random, depth: int) -> BuiltPattern:
    parts = [_part(random, depth - 1) for _ in range(random.randint(2, 4))]
    return BuiltPattern(
        "".join(part.pattern for part in parts), lambda other: "".join(part.sample(other) for part in parts)
    )


def _alternatives(random: Random, depth: int) -> BuiltPattern:
    parts = [_part(random, depth - 1) for _ in range(random.randint(2, 12))]
    return BuiltPattern(
        f"(?:{'|'.join(part.pattern for part in parts)})", lambda other: other.choice(parts).sample(other)
    )


def _repeated(random: Random, depth: int) -> BuiltPattern:
    part = _part(random, depth - 1)
    least, more = random.choice((0, 1, 5, 30)), random.choice((0, 1, 20, 60, 200))
    return BuiltPattern(
        f"(?:{part.pattern}){{{least},{least + more}}}",
        lambda other: "".join(part.sample(other) for _ in range(min(least + more, 40))),
    )


def _window(random: Random, depth: int) -> BuiltPattern:
    """Alternatives that each remember another part of the text for long."""
    count, length = random.randint(1, 30), random.choice((20, 60, 120, 240))
    starts = ["".join(random.choices("ab", k=random.randint(1, 3))) for _ in range(count)]
    end = random.choice("cxz")
    pattern = "|".join(f"{start}[ab]{{{length + random.randint(0, 9)}}}{end}" for start in starts)
    return BuiltPattern(f"(?:{pattern})", lambda other: "".join(other.choices("ab", k=LONGEST_NAME)))


def _counts(random: Random, depth: int) -> BuiltPattern:
    """Alternatives that each count the same letter to another number."""
    letter, end = random.choice("abx"), random.choice("cz")
    first, count = random.randint(1, 60), random.randint(5, 110)
    pattern = "|".join(f"{letter}{{{number}}}{end}" for number in range(first, first + count))
    return BuiltPattern(f"(?:{pattern})", lambda _: letter * LONGEST_NAME)


def _gate(random: Random, depth: int) -> BuiltPattern:
    """A part behind a name that a text has to begin with."""
    name = "".join(random.choices(_LETTERS.replace(".", "").replace("-", ""), k=random.randint(1, 6)))
    part = _part(random, depth - 1)
    begin = random.choice(("^", "", r"\b"))
    between = random.choice(("", ".*", "[ab]*", "[^z]{0,9}"))
    return BuiltPattern(f"{begin}{name}{between}(?:{part.pattern})", lambda other: name + part.sample(other))


def _changed(part: BuiltPattern, random: Random) -> BuiltPattern:
    """A pattern that has the part in it."""
    other = _part(random, 2)
    return random.choice(
        (
            BuiltPattern(part.pattern + other.pattern, lambda each: part.sample(each) + other.sample(each)),
            BuiltPattern(other.pattern + part.pattern, lambda each: other.sample(each) + part.sample(each)),
            BuiltPattern(f"(?:{part.pattern}|{other.pattern})", part.sample),
            BuiltPattern(f"(?:{part.pattern}){{1,3}}", lambda each: part.sample(each) + part.sample(each)),
        )
    )
