"""Solutions of equations: implicit functions and differential equations."""
