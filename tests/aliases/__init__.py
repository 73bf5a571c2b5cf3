"""Random programs whose arrays have several names, and programs that call verbs, against exact slopes."""
