"""Which operations run in which loops, and what is known of these before they are printed."""
