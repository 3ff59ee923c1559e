"""`triton.testing`: names that kernel files import beside their kernels."""


class Benchmark:
    """Describes a plot in Triton's own scripts; nothing here draws it."""

    def __init__(self, *args, **options):
        self.args, self.options = args, options


def perf_report(benchmarks):
    return lambda fn: fn
