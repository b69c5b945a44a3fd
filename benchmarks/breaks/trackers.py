"""Breaks of the trackers, which derive the events that rules judge."""

from __future__ import annotations

from benchmarks.breaks.base import Break

_TRACKERS = "gradcheck_tool/trackers"

BREAKS = [
    Break(
        "a running total that a pass has used counts as kept",
        f"{_TRACKERS}/retained_graphs.py",
        "                self.used[key] = True\n\n    def on_path_ended(",
        "                pass\n\n    def on_path_ended(",
        ("tests/trackers/test_retained_graphs.py",),
    ),
    Break(
        "what a function hands out counts as kept",
        f"{_TRACKERS}/retained_graphs.py",
        "            self._escape(s, fact.value)\n",
        "            pass\n",
        ("tests/trackers/test_retained_graphs.py",),
    ),
    Break(
        "results of one forward count each",
        f"{_TRACKERS}/retained_graphs.py",
        "            if not behind(s, first).isdisjoint(behind(s, tensor.grad_fn)):\n                return\n",
        "",
        ("tests/trackers/test_retained_graphs.py",),
    ),
    Break(
        "what keeps a result last alone keeps it",
        f"{_TRACKERS}/retained_graphs.py",
        "{**self.owners.get(node.id, {}), key: fresh()}",
        "{key: fresh()}",
        ("tests/trackers/test_retained_sums.py",),
    ),
    Break(
        "results that are collected and differentiated together count as kept",
        f"{_TRACKERS}/spent_graphs.py",
        "if key not in self.used and self.piles_up(key):",
        "if self.piles_up(key):",
        ("tests/trackers/test_retained_sums.py",),
    ),
    Break(
        "a variable that another way binds counts as unset on it",
        f"{_TRACKERS}/unset_gradients.py",
        "todo += (otherwise,) if asked == index else successors(body.function.blocks[at])",
        "todo += (otherwise,)",
        ("tests/trackers/test_unset_gradients.py",),
    ),
    Break(
        "a variable counts as read where a way returns without it",
        f"{_TRACKERS}/unset_gradients.py",
        "        elif isinstance(body.function.blocks[at].terminator, ir.Return):\n            return None\n",
        "",
        ("tests/trackers/test_unset_gradients.py",),
    ),
    Break(
        "gradients behind a star count as misplaced where a tensor is left out",
        f"{_TRACKERS}/starred_gradients.py",
        "if made_once and all(_is_option(c, index) for index in range(gives, takes)):",
        "if made_once:",
        ("tests/trackers/test_starred_gradients.py",),
    ),
    Break(
        "gradients count as behind the star that something is added to",
        f"{_TRACKERS}/starred_gradients.py",
        "made_once = isinstance(body.maker(items[-1][0]), (ir.BuildList, ir.Call))",
        "made_once = True",
        ("tests/trackers/test_starred_gradients.py",),
    ),
    Break(
        "what a constructor is given counts as a list of modules, whatever it is",
        f"{_TRACKERS}/given_modules.py",
        'return given if is_said else ""',
        "return given",
        ("tests/trackers/test_given_modules.py",),
    ),
    Break(
        "rows of a result pile up before anything is spent",
        f"{_TRACKERS}/spent_writes.py",
        "            and is_freed(s, kept.grad_fn)\n",
        "",
        ("tests/trackers/test_spent_writes.py",),
    ),
    Break(
        "a switch that is a manager counts as left off",
        f"{_TRACKERS}/grad_mode.py",
        "if off and function.kind is not ir.FunctionKind.MODULE and not m.places.is_read(function, i.dst):",
        "if off and function.kind is not ir.FunctionKind.MODULE:",
        ("tests/trackers/test_grad_mode.py",),
    ),
    Break(
        "a manager that is entered counts as bare",
        f"{_TRACKERS}/grad_mode.py",
        "if fact.func.name in CLASSES and not m.places.is_read(running_function(s), i.dst):",
        "if fact.func.name in CLASSES:",
        ("tests/trackers/test_grad_mode.py",),
    ),
    Break(
        "a leaf that a pass reaches in another way counts as missed",
        f"{_TRACKERS}/gradient_reach.py",
        "if leaf.id not in reached and leaf.id not in self.followers]",
        "if leaf.id not in self.followers]",
        ("tests/trackers/test_gradient_reach.py", "tests/trackers/test_constant_terms.py"),
    ),
    Break(
        "a target network counts as missed",
        f"{_TRACKERS}/gradient_reach.py",
        "if leaf.id not in reached and leaf.id not in self.followers]",
        "if leaf.id not in reached]",
        ("tests/trackers/test_gradient_reach.py", "tests/trackers/test_constant_terms.py"),
    ),
    Break(
        "a constant factor is a constant term",
        f"{_TRACKERS}/constant_terms.py",
        "        elif node.op in TOTALS or _is_scaling(node):\n",
        "        else:\n            found += node.constant_inputs\n",
        ("tests/trackers/test_constant_terms.py",),
    ),
    Break(
        "a constant term is never unasked for",
        f"{_TRACKERS}/constant_terms.py",
        "    return cut.kind in UNASKED\n",
        "    return False\n",
        ("tests/trackers/test_constant_terms.py",),
    ),
    Break(
        "one wrong derivative of three points is enough",
        f"{_TRACKERS}/elementwise.py",
        "if pairs and all(pair is not None and not _agree(*pair) for pair in pairs):",
        "if pairs and any(pair is None or not _agree(*pair) for pair in pairs):",
        ("tests/trackers/test_elementwise.py",),
    ),
    Break(
        "a derivative that is meant to be another one is judged",
        f"{_TRACKERS}/elementwise.py",
        "c.backward is None or DELIBERATE.search(c.name) or",
        "c.backward is None or",
        ("tests/trackers/test_elementwise.py",),
    ),
    Break(
        "a comparison with another tensor asks for one truth value",
        f"{_TRACKERS}/truth_of_elements.py",
        "            is_number = isinstance(limit, ir.Const) and isinstance(limit.value, (int, float, complex))\n",
        "            is_number = True\n",
        ("tests/trackers/test_truth_of_elements.py",),
    ),
    Break(
        "a layer that is registered otherwise is made in a list",
        f"{_TRACKERS}/made_modules.py",
        '    return names[0] if is_kept and unknown else ""\n',
        '    return names[0] if unknown else ""\n',
        ("tests/trackers/test_made_modules.py",),
    ),
]
