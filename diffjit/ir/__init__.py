"""What a program is: types, nodes, builder, printer and verifier of the intermediate representation."""
