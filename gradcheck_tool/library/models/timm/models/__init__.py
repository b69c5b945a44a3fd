"""Image models; see the package."""

from gradlint_model import module


def create_model(model_name, pretrained=False, **kwargs):
    return module()
