"""The abstract interpreter, and what each kind of syntax does."""
