"""Programs to programs: forward mode, reverse mode, inlining."""
