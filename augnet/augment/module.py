"""Augmentation layers in sequence, and the augmentation that does nothing."""

from collections.abc import Iterable, Iterator

from torch import Generator, Tensor, nn

from augnet.augment.layer import AugmentationLayer


class AugmentationModule(nn.Module):
    """Layers one after the other, so that each can learn another invariance (section 3.3)."""

    def __init__(self, layers: Iterable[AugmentationLayer]) -> None:
        super().__init__()
        if isinstance(layers, nn.Module):
            raise TypeError("a module takes a list of layers: AugmentationModule([layer])")
        self.layers = nn.ModuleList(layers)
        if not len(self.layers):
            raise ValueError("a module takes at least one layer; to augment nothing: identity")
        for layer in self.layers:
            if not isinstance(layer, AugmentationLayer):
                raise TypeError(
                    f"a module takes a list of layers; got {type(layer).__name__}: "
                    "AugmentationModule([AugmentationLayer(...), ...])"
                )

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Pass each sample through all layers."""
        for layer in self:
            layer.check(x)  # all of them, before any dice are rolled
        for layer in self:
            x = layer(x, generator)
        return x

    def __iter__(self) -> Iterator[AugmentationLayer]:
        return iter(self.layers)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> AugmentationLayer:
        return self.layers[index]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "\n".join(layer.sentence() for layer in self)


def identity(x: Tensor, generator: Generator | None = None) -> Tensor:
    """Augment nothing: the baseline of every experiment."""
    return x
