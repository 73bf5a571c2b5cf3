"""What Python and NumPy ask operands' classes: operators, ufuncs; arrays of objects and of classes of their own."""
