"""Numbers of the text, control flow, calls, and what is seen from outside."""

from diffjit.ir.ops.schema import Cost, Raises, Reads, Row, declare

declare(
    Row("const", "", "attrs value (a Python or NumPy number) -> scalar",
        raises=Raises.NEVER, constant=True, literal=True, cost=Cost.FREE),
    Row("undef", "", "a value that is never read (the other path of a join); printed as nothing",
        raises=Raises.NEVER, constant=True, joins=True, literal=True, cost=Cost.FREE, name=""),
    Row("trip", "start stop step", "len(range(start, stop, step)) -> int",
        raises=Raises.VALUES, length=True, constant=True, shared=True, cost=Cost.FREE, name="trips"),
    Row("for", "start stop step *init",
        "regions [body(i, *carried)]; body.results are [*next carried], or, if attrs exit, [leave, *next carried]: "
        "when `leave` is true the loop ends after this iteration. outputs: final carried values. attrs reverse=True: "
        "the same indices last to first. attrs budget: the way back starts from snapshots (`checkpoint.timeloop`)",
        raises=Raises.PARTS, control=True, loop=True, name=""),
    Row("while", "*init",
        "regions [cond(*carried) -> [go_on], body(*carried) -> next carried (or [leave, *next])]",
        raises=Raises.PARTS, control=True, loop=True, name=""),
    Row("if", "cond", "regions [then(), else()], results of both joined to outputs",
        raises=Raises.PARTS, control=True, name="", size=10),
    Row("call", "*args",
        "attrs function (a Function, maybe itself an ancestor: recursion). attrs rules (`transforms.custom.Rules`): "
        "derivatives take these in place of the function. attrs repeats=True: its effects have been seen to elsewhere; "
        "it may be dropped when its outputs are unused",
        raises=Raises.VALUES, control=True),
    Row("foreign", "*args_and_lengths",
        "attrs site: a function without source (`primitives.routines`) of its args alone; lengths are those of the "
        "outputs that are (fresh) arrays, one after the other",
        library=True, raises=Raises.VALUES, linked=True),
    Row("opaque", "*args_and_lengths",
        "like foreign, of a function that is called for what it does, or whose answer is another each time; what comes "
        "out are numbers without a derivative",
        raises=Raises.VALUES, effect=True, once=True, constant=True, linked=True),
    Row("custom_link", "*args_outs_residuals",
        "attrs n_args, back; the outs, whose cotangents go to the args through `back` (inside reverse mode alone)",
        raises=Raises.VALUES, inner=True),
    Row("kept", "", "attrs of: a value of the way there that the way back reads (inside reverse mode alone)",
        raises=Raises.NEVER, inner=True),
    Row("undo", "", "attrs store: puts back what a store has overwritten (while a reverse sweep is built)",
        raises=Raises.NEVER, effect=True, inner=True),
    Row("stop_gradient", "x", "the identity; derivatives end here",
        raises=Raises.NEVER, constant=True, joins=True, same=True, reads=Reads.REFERENCE, like=0, name=""),
    Row("share", "a b", "may a and b overlap in memory? (np.may_share_memory) -> bool",
        raises=Raises.NEVER, constant=True, boolean=True, reads=Reads.LENGTHS, name="shared"),
    Row("print", "*values",
        'attrs parts: alternating literal text and ("value", format spec); sep and end folded in',
        raises=Raises.NEVER, effect=True, once=True),
    Row("raise", "*values",
        "attrs exception (class), parts as `print`, or held: forms of arguments and attributes; leaves the function",
        raises=Raises.ALWAYS, effect=True),
)  # fmt: skip
