"""Tables 4 to 6: OD-Score and MIG."""
