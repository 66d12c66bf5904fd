"""`python -m augnet` is `augnet`."""

from augnet.cli import app

app(prog_name="augnet")
