"""How the console writes times; Django looks for a package for each language here."""
