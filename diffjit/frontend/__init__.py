"""Python to typed IR: finds the source, checks the subset, and interprets it abstractly while building IR."""
