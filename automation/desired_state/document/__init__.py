"""The automation document: parse, check, complete and compare it. Pure."""
