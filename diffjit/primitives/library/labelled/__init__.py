"""Arrays with labels, of pandas and of xarray, as programs: operations on their arrays, where labels are the same."""
