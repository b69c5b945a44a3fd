"""`gradlint run` and `watch()`: a run is watched, and its mistakes are told with both ends of the story.

The static engine predicts what PyTorch's autograd engine would do; this one sees what it does. Both tell it
with the same codes and traces. Three parts, each knowing only those above it:

*Records* say what happened: where each graph node was made (`nodes`), what was saved in which version
(`saved`), which storage was written where (`storages`), which passes went through the graph and which of them
freed it (`passes`), which gradients were applied (`steps`), where a path to the loss was cut (`cuts`).
Stacks are interned (`sites`) and hold the user's own frames alone. Records keep no tensor alive: what is
saved hangs on the graph as it would without them, and the record of a storage lives as long as something
that saved it.

*Observers* make records: a dispatch mode (`dispatch`), saved-tensor hooks (`saved`), and wrappers of the one
function that runs backward passes and of optimizers. Each thread has its own (`threads`). With saved-tensor
hooks PyTorch does not compare versions, so `versions` does that in its place and raises what it would.

*Judges* (`judges`, one file for each kind of mistake) turn records, or an exception that leaves the program,
into `Told`s (`told`): code, place, story. Judges never watch, observers never judge.

`watch` puts the three together for a part of a program. `gradlint run` starts the program as Python would
(`gradcheck_tool.startup`), `start` begins to watch once torch is imported, and what was told reaches the
command through a folder (`delivery`), where `findings` completes it from the rules: names, suppression,
configuration.
"""
