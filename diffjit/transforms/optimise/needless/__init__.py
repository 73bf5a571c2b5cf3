"""What nobody needs: memory that is not read, elements of which lengths are read, loops over zeros."""
