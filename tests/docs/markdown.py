"""Fenced blocks of Markdown files."""
import dataclasses
import pathlib
import re


@dataclasses.dataclass
class Block:
    where: str  # file:line
    info: list  # words after the fence: ["sh", "run"]
    text: str


def blocks(path: pathlib.Path):
    lines = path.read_text().splitlines()
    begin = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if begin is None:
            begin = number
            continue
        text = "\n".join(lines[begin:number - 1]) + "\n"
        yield Block(f"{path.name}:{begin}", lines[begin - 1].lstrip("`").split(), text)
        begin = None
    if begin is not None:
        raise ValueError(f"{path}:{begin}: this block never ends")


def shown_output(text: str):
    """Lines `#> …` of a shell block: what its commands print."""
    return [line[3:] for line in text.splitlines() if line.startswith("#> ")]


def relative_links(path: pathlib.Path):
    """Targets of links and pictures that are files of the repository."""
    outside_blocks = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", outside_blocks):
        if "://" not in target and not target.startswith("#"):
            yield target.split("#")[0]
