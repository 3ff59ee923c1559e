"""Which devices a host program may use."""

class DeviceSelector:
    """`all`, or `sip:N`."""

    def __init__(self, text="all"):
        self.text = str(text)
        kind, _, number = self.text.partition(":")
        if self.text != "all" and not (kind == "sip" and number.isdigit()):
            raise ValueError(f"unknown device '{text}': it is 'all', or 'sip:N' such as 'sip:0'")
        self.sip = int(number) if number else None

    @property
    def kind(self):
        return "all" if self.sip is None else "sip"

    def __eq__(self, other):
        return isinstance(other, DeviceSelector) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"DeviceSelector({self.text!r})"


def resolve_device(device=None):
    """A DeviceSelector from None (all), a text, a SIP's number or a DeviceSelector."""
    if isinstance(device, DeviceSelector):
        return device
    if device is None:
        return DeviceSelector("all")
    return DeviceSelector(f"sip:{device}" if isinstance(device, int) else device)
