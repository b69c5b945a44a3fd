"""MMCV: layers that are built from configurations; see the packages `mmcv.cnn` and `mmcv.runner`."""
