"""The layers under their old name."""

from timm.layers import DropPath, drop_path, to_2tuple, trunc_normal_
