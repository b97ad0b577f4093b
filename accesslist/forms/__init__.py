"""Console forms of identity and access."""

from accesslist.forms.places import InProjectForm, PlacedForm, PlaceField

__all__ = ["InProjectForm", "PlaceField", "PlacedForm"]
