"""Modules that a constructor keeps in a plain list and methods call, where only the text shows what they are.

Lists of which something is known are looked at when the object is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.records import Class
from gradcheck_tool.trackers.events import ModuleAttribute
from gradcheck_tool.trackers.given_modules import given_modules
from gradcheck_tool.trackers.made_modules import made_modules
from gradcheck_tool.trackers.plain_lists import calls_elements, constructor_and_methods, stores
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import ObjectMade
    from gradcheck_tool.ir import nodes as ir


class ListedModules(Tracker):
    """Reads the constructors of modules when their classes are defined."""

    derives = (ModuleAttribute,)

    def on_object_made(self, m: Interpreter, s: State, fact: ObjectMade) -> None:
        """Read a class that derives from `nn.Module`."""
        record = s.get(fact.object, Class)
        read = constructor_and_methods(s, record) if record is not None else None
        if record is None or read is None:
            return
        init, methods = read
        for store in stores(init):
            given = given_modules(m, s, record, init, store)
            made = "" if given else made_modules(m, s, record, read, store)
            if (given or made) and any(calls_elements(body, store.name) for body in methods):
                self._found(record, store, given, made)

    def _found(self, record: Class, store: ir.SetAttr, given: str, made: str) -> None:
        assumed = (
            f"`{given}` has modules that are to be trained"
            if given
            else f"a `{made}` is a module with parameters"
        )
        self.report(
            ModuleAttribute(
                site=Site(record.env.module, store.node),
                module=record.name,
                attribute=store.name,
                kind="module-list",
                call=given or made,
                assumes=(assumed,),
            )
        )
