"""What Python's own containers hand on to users' classes, and how they are printed."""
