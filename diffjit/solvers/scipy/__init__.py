"""Functions of `scipy.integrate` and `scipy.optimize`: read once a program has imported these modules."""
