"""A program as the text of Python: names, expressions, statements, and the printer of modules."""
