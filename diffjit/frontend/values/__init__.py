"""What names can be bound to while a program is interpreted, and how two such values are joined."""
