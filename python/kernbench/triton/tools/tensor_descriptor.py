"""Tensor descriptors that the host makes and a kernel is given."""


class TensorDescriptor:
    """A tensor and the block that a kernel loads or stores at once."""

    def __init__(self, base, shape, strides, block_shape, padding="zero"):
        self.base, self.shape, self.strides, self.block_shape = base, list(shape), list(strides), list(block_shape)
        self.padding = padding

    @classmethod
    def from_tensor(cls, tensor, block_shape, padding="zero"):
        return cls(tensor, list(tensor.shape), [tensor.stride(i) for i in range(len(tensor.shape))], block_shape, padding)

    def with_base(self, base):
        """The same of another tensor."""
        return TensorDescriptor(base, self.shape, self.strides, self.block_shape, self.padding)
