"""What is left in the middle and gone on with."""
