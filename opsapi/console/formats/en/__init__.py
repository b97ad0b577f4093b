"""English, the only one."""
