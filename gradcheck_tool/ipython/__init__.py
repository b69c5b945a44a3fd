"""`%load_ext gradcheck_tool`: findings below the cells of a notebook that runs. IPython is imported late."""
