"""Random programs of array statements that are tried while they are written, against plain Python and differences."""
