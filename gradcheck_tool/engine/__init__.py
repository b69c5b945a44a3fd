"""The model of PyTorch's autograd engine: tensors, graph, backward pass, op tables. It knows no syntax."""
