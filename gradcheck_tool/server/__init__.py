"""`gradlint server`: what editors ask, over the Language Server Protocol.

The process that talks with the editor (`app`) never analyses anything: a process of its own does (`worker`),
which can be ended when what it works at is outdated (`engine`).
"""
