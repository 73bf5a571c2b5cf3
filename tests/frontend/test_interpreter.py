"""The interpreter's parts fit together."""

from diffjit.frontend.syntax.interpret import Interpreter


def test_no_part_hides_a_method_of_another():
    owners = {}
    for cls in Interpreter.__mro__[:-1]:
        for name in vars(cls):
            if not name.startswith("__"):
                owners.setdefault(name, []).append(cls.__name__)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}
