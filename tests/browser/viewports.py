"""How a page can be looked at: in light, in dark, on a phone."""

from dataclasses import dataclass
from typing import Literal

from tests.hostile.budget import LONG


@dataclass(frozen=True)
class Viewport:
    """What a browser prefers, the size of its window in CSS pixels, and whether fingers reach it."""

    name: str
    color_scheme: Literal["light", "dark"]
    width: int
    height: int
    has_touch: bool = False

    def __str__(self) -> str:
        return self.name


LIGHT = Viewport("light", "light", 1280, 800)
DARK = Viewport("dark", "dark", 1280, 800)
PHONE = Viewport("phone", "light", 390, 844, has_touch=True)
VIEWPORTS = (LIGHT, DARK, PHONE) if LONG else (PHONE,)
"""How tests open pages that are for everybody: `make faults` in every look, otherwise on a phone in light."""
ALSO = () if LONG else (DARK,)
"""How they look at an open page as well: no second visit shows its colors and its width."""
