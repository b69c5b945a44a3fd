"""Trackers: facts in, events out.

A tracker is a class, of which each run makes one object. Its methods are named after the facts that it hears
(`on_stepped` for `facts.Stepped`), `derives` lists the events that it may report, and it is made only where a
rule in force judges one of these. It knows nothing of other trackers.

- What happens is told by the interpreter or a model, once, at the place that knows it:
  `m.tell(s, Stepped(...))`. A fact says what happened, never what is wrong. Where no fact tells it yet, add a
  class to `interp/facts.py`, or a field to one.
- What a tracker remembers is declared as an attribute of its class. `StateNote` is a field of records, in
  which states may differ. `StoryNote` goes with a state, and is no reason to keep two states apart. `RunNote`
  is one dictionary for all paths.
- `once(key)` is true once a run. `report(event)` reports, `hold(key, event, about)` reports at the end of the
  run, unless `clear` or `drop` takes it back. `on_run_ended` comes before that.
- Trackers that serve several rules are listed in `catalogue`; one that serves a single rule is in the rule's
  file, with the event, and is named in `Rule.trackers`.
"""
