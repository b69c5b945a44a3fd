"""Liveness is exact on cases done by hand. (That it never forgets a value, running programs shows.)"""

from __future__ import annotations

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import graph_of, solve_backward
from gradcheck_tool.ir.liveness import live_in
from gradcheck_tool.ir.lower import lower_module


def lower(source):
    return lower_module(source, "p.py").functions[0]


def names(function, id_):
    return {variable for variable in live_in(function)[id_] if isinstance(variable, str)}


def block_calling(function, name):
    """The block that calls `name`."""
    for id_, block in function.blocks.items():
        for instr in block.instrs:
            if isinstance(instr, ir.LoadName) and instr.name == name:
                return id_
    raise AssertionError(name)


def test_only_what_is_read_later_is_live_at_the_start():
    function = lower("def f(a, b, c):\n    b = a\n    if c: return b\n    return a\n")
    assert live_in(function)[function.entry] == {"a", "c"}


def test_assigned_before_read_is_dead_at_the_head_of_a_loop():
    function = lower("def f(xs, t):\n    for x in xs:\n        y = x\n        t = t + y\n    return t\n")
    (head,) = function.loops
    assert names(function, head) == {"t"}
    registers = live_in(function)[head] - {"t"}
    assert registers == {function.blocks[head].terminator.iterator}


def test_read_after_the_loop_is_live_in_it():
    function = lower("def f(xs):\n    last = None\n    for x in xs:\n        last = x\n    return last\n")
    (head,) = function.loops
    assert names(function, head) == {"last"}


def test_carried_from_one_iteration_to_the_next_is_live():
    function = lower("def f(xs, h):\n    while p():\n        h = step(h)\n        out = h\n")
    (head,) = function.loops
    assert names(function, head) == {"h"}


def test_handler_keeps_alive_what_it_reads_throughout_the_body():
    function = lower(
        "def f():\n    x = one()\n    try:\n        x = two()\n        x = three()\n    except E:\n        use(x)\n"
    )
    assert names(function, block_calling(function, "two")) == {"x"}


def test_finally_keeps_alive_what_it_reads():
    function = lower("def f(a, b):\n    try:\n        return g(b)\n    finally:\n        h(a)\n")
    assert names(function, block_calling(function, "g")) == {"a", "b"}


def test_captured_names_are_live_everywhere():
    function = lower("def f():\n    x = 1\n    def g(): return x\n    if p(): return g\n    return None\n")
    assert all("x" in live for live in live_in(function).values())


def test_locals_reads_every_name():
    function = lower("def f(a):\n    b = a\n    if p(): return locals()\n    c = 1\n")
    assert all({"a", "b", "c"} <= live for live in live_in(function).values())


def test_super_reads_the_first_parameter():
    method = lower_module(
        "class A:\n    def m(self, x):\n        if x: return super().m(x)\n", "p.py"
    ).functions[1]
    assert all("self" in live for live in live_in(method).values())


def test_class_names_are_attributes_in_the_end():
    function = lower("class A:\n    x = 1\n    if p(): y = 2\n    else: y = 3\n")
    after = function.order[-1]
    assert names(function, after) == {"x", "y"}
    assert names(function, function.entry) == set()


def test_globals_that_functions_read_are_live_in_the_module():
    body = lower_module("x = y = z = 1\nif z: pass\ndef f(): return x\n", "p.py").body
    assert body.captured == {"x"}
    after = body.order[-1]
    assert names(body, after) == {"x"}
    assert names(body, body.entry) == {"x"}


def test_del_reads_the_name():
    function = lower("def f(a):\n    b = a\n    if p(): pass\n    del b\n")
    assert names(function, function.order[-1]) == {"b"}


def test_arms_of_a_conditional_join_in_a_live_register():
    function = lower("def f(a):\n    return g(1 if a else 2)\n")
    end = function.order[-1]
    assert len([variable for variable in live_in(function)[end] if isinstance(variable, int)]) == 2


def test_solver_finds_the_least_solution_over_loops():
    function = lower(
        "def f(xs):\n    while a():\n        while b():\n            if c(): return 1\n    return 2\n"
    )
    graph = graph_of(function)

    def reachable(id_, below):
        return below | {id_}

    solution = solve_backward(graph, reachable, frozenset.union, frozenset())
    assert solution[function.entry] == set(function.blocks)
    assert solution[function.order[-1]] == {function.order[-1]}
