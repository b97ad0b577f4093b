"""The form that dismisses the notice of a project."""

from accesslist.forms import InProjectForm


class DismissForm(InProjectForm):
    """The project whose notice disappears."""
