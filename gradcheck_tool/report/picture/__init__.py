"""A finding as a picture: what is drawn, and where, whoever draws it.

`layout.picture` is the one entrance. Nothing here knows colours, characters or HTML.
"""
