"""Time formats of the console. Django looks for a package per language here."""
