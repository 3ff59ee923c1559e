"""The element types of tiles and tensors."""


class DType(str):
    """A dtype: its name, as a str, with the bytes of one element."""

    itemsize: int

    def __new__(cls, name, itemsize):
        self = super().__new__(cls, name)
        self.itemsize = itemsize
        return self

    @property
    def name(self):
        return str(self)

    def __repr__(self):
        return f"kernbench.{self}"

    def __reduce__(self):
        return DType, (str(self), self.itemsize)
