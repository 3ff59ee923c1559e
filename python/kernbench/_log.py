"""The op log as arrays: one row for every operation of the machine."""
import operator
import types


class Record(types.SimpleNamespace):
    """One operation: the columns of the log as attributes."""


class OpLog:
    """Every operation of a run. `array` is a NumPy structured array; its text columns are numbers into `kinds`, `names`,
    `files` and `reasons`. `column("kind")` gives the texts, `to_pandas()` a DataFrame of them."""

    def __init__(self, run_log):
        self._log = run_log
        self._parts = None

    def _columns(self):
        if self._parts is None:
            self._parts = self._log._columns()
        return self._parts

    @property
    def array(self):
        return self._columns()[0]

    @property
    def kinds(self):
        return self._columns()[1]

    @property
    def names(self):
        return self._columns()[2]

    @property
    def files(self):
        return self._columns()[3]

    @property
    def reasons(self):
        return self._columns()[4]

    _TEXTS = {"kind": 1, "name": 2, "file": 3, "reason": 4}

    def column(self, name):
        """A column; of texts the texts."""
        import numpy as np
        column = self.array[name]
        return np.array(self._columns()[self._TEXTS[name]], dtype=object)[column] if name in self._TEXTS else column

    def where(self, **values):
        """The rows in which each column has the given value: `log.where(kind="gemm", sip=0)`."""
        import numpy as np
        chosen = np.ones(len(self), bool)
        for name, value in values.items():
            if name in self._TEXTS:
                texts = self._columns()[self._TEXTS[name]]
                value = texts.index(value) if value in texts else -1
            chosen &= self.array[name] == value
        return self.array[chosen]

    # ── as a sequence of rows ──

    def _rows(self, array):
        """Records as objects with the columns as attributes, texts as texts, and times in nanoseconds, too."""
        texts = {name: self._columns()[place] for name, place in self._TEXTS.items()}
        for values in array.tolist():
            row = dict(zip(array.dtype.names, values))
            row.update({name: known[row[name]] for name, known in texts.items()})
            yield Record(**row, start_ns=row["start_ps"] / 1000, end_ns=row["end_ps"] / 1000)

    def __iter__(self):
        """Every record as a Record, in the order of the log."""
        for begin in range(0, len(self), 4096):
            yield from self._rows(self.array[begin:begin + 4096])

    def __getitem__(self, index):
        """One Record, or a list of them."""
        if isinstance(index, slice):
            return list(self._rows(self.array[index]))
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"record {at} of a log of {len(self)}")
        return next(self._rows(self.array[at % len(self):][:1]))

    def __len__(self):
        return len(self._log)

    def __array__(self, dtype=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def to_pandas(self):
        """A DataFrame; texts are categories."""
        try:
            import pandas  # type: ignore
        except ImportError:
            raise ImportError("to_pandas() needs pandas: install python3-pandas, or use .array") from None
        frame = pandas.DataFrame({name: self.array[name] for name in self.array.dtype.names})
        for name, place in self._TEXTS.items():
            frame[name] = pandas.Categorical.from_codes(frame[name].astype("int32"), self._columns()[place])
        return frame

    def summary(self):
        return self._log.summary()

    def critical_path(self):
        return self._log.critical_path()

    def hash(self):
        """Equal hashes mean equal runs, on any computer."""
        return self._log.hash()

    @classmethod
    def open(cls, path):
        """The log of a run that `torch.save` or `kernbench run --save` has kept."""
        from . import _core
        return cls(_core.open_log(str(path)))

    def compare(self, after, limit=20):
        """Which operations moved between two runs, by how much, on which resource: a text."""
        from . import _core
        return _core.compare_logs(self._log, after._log, limit)

    def __repr__(self):
        return f"<op log of {len(self)} records>"
