"""What is wrong with the arguments of a call, from the list of signatures that the binding gives."""
import difflib
import re


def _split(text):
    """Parameters at the commas that are in no bracket or quote."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


class Parameter:
    """A parameter of a signature: `dtype: dtype = 'f16'`."""

    def __init__(self, text, by_keyword):
        self.name, self.type, self.default = re.match(r"(\*{0,2}\w+)(?:: (.*?))?(?: = (.*))?$", text, re.S).groups()
        self.by_keyword = by_keyword

    def text(self, typed):
        kind = (self.type or "").replace("kernbench._core.", "")
        name = f"{self.name}: {kind}" if typed and kind not in ("", "handle", "object", "args", "kwargs") else self.name
        return name if self.default is None else f"{name}={self.default}"


class Signature:
    def __init__(self, text):
        self.parameters, by_keyword = [], False
        for part in _split(text):
            if part in ("*", "/"):
                by_keyword = by_keyword or part == "*"
            else:
                self.parameters.append(Parameter(part, by_keyword))
        self.has_self = bool(self.parameters) and self.parameters[0].name == "self"
        self.parameters = self.parameters[self.has_self:]
        self.names = [p.name for p in self.parameters]

    def text(self, typed):
        texts = [p.text(typed) for p in self.parameters if not p.by_keyword]
        by_keyword = [p.text(typed) for p in self.parameters if p.by_keyword]
        return f"({', '.join(texts + ['*'] * bool(by_keyword) + by_keyword)})"

    def complaint(self, args, kwargs):
        """What does not fit, or None if the arguments are of the wrong kind."""
        if any(name.startswith("*") for name in self.names):
            return None
        for name in kwargs:
            if name not in self.names:
                near = difflib.get_close_matches(name, self.names, 1)
                return f"got an unexpected keyword argument '{name}'" + (f" ('{near[0]}'?)" if near else "")
        taken = self.names[: len(args)]
        if len(args) > len([p for p in self.parameters if not p.by_keyword]):
            return f"got {len(args)} positional arguments"
        for name in taken:
            if name in kwargs:
                return f"got '{name}' twice"
        missing = [p.name for p in self.parameters if p.default is None and p.name not in taken and p.name not in kwargs]
        return f"lacks '{missing[0]}'" if missing else None


def in_plain_words(text, args, kwargs):
    """The text of a TypeError about a call with these arguments."""
    name = text.split("(", 1)[0]
    signatures = [Signature(s) for s in re.findall(r"^ +\d+\. .*?\((.*)\)(?: -> .*)?$", text, re.M)]
    if not signatures:
        return text
    if name == "__init__":
        name, args = type(args[0]).__name__, args[1:]
    elif signatures[0].has_self:
        args = args[1:]
    complaint = signatures[0].complaint(args, kwargs) if len(signatures) == 1 else None
    of_kinds = complaint is None
    if of_kinds:
        given = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        complaint = f"got ({', '.join(given)})"
    return f"{name}() {complaint}. It takes {' or '.join(s.text(of_kinds) for s in signatures)}"
