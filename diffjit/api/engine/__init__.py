"""What verbs are made of: specialised programs, their cache, and how they are called."""
