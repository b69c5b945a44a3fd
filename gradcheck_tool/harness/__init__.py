"""The harness: all `autograd.Function`s of a repository, checked in processes of their own."""
