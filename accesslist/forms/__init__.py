"""Forms of the console for what identity and access let be made and changed."""

from accesslist.forms.places import InProjectForm, PlacedForm, PlaceField

__all__ = ["InProjectForm", "PlaceField", "PlacedForm"]
