"""What the demonstration tells, as tables. Minutes are counted back from its end. Pure."""
