"""Products in loops that become one product."""
