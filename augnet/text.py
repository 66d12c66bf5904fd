"""Make names from files safe to print, to write and to compare."""

MAX_MESSAGE = 2000
"""Characters of a message: an error may quote a whole file."""
MAX_NAME = 1024
"""Characters of a name, such as that of a class."""


def printable(text: object) -> str:
    r"""Escape control characters, and bytes of file names that are not UTF-8.

    >>> printable("a\x1b[31m b\udcff")
    'a\\x1b[31m b\\xff'
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python reads file names
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line, or its type if it has none."""
    lines = [line.strip() for line in str(error).splitlines()]
    text = " ".join(filter(None, lines)) or type(error).__name__
    return printable(text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}…")
