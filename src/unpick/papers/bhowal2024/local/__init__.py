"""Tables 1 and 2: local decoders."""
