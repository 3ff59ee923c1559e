"""`main(argv)`: the command line as a function."""
from .._cli import main
