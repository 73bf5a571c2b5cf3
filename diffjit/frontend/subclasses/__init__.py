"""Objects that NumPy asks: arrays of objects, and of classes of their own."""
