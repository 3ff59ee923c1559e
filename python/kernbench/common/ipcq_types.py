"""Recorded queue commands by the prototype's names."""
from .._core import IpcqRecv as IpcqRecvCmd
from .._core import IpcqSend as IpcqSendCmd
