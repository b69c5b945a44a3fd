"""timm's loss scalers; see the package."""


class NativeScaler:
    def __call__(
        self,
        loss,
        optimizer,
        clip_grad=None,
        clip_mode="norm",
        parameters=None,
        create_graph=False,
        need_update=True,
    ):
        loss.backward(create_graph=create_graph)
        if need_update:
            optimizer.step()


class ApexScaler(NativeScaler):
    pass
