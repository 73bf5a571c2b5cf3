"""Random NumPy programs, generated as source text, whose derivatives are checked against difference quotients."""
