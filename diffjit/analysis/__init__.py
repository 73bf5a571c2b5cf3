"""Facts about a program, changing nothing: memory classes, activity, the order of effects."""
