"""What diffjit uses of astor, which ships no types."""
