"""Random programs that are compiled once and called again with other kinds of arguments, against plain NumPy."""
