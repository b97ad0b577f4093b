"""Console forms of identity and access."""

from accesslist.forms.scopes import InProjectForm, ScopedForm, ScopeField

__all__ = ["InProjectForm", "ScopeField", "ScopedForm"]
