"""The command `augnet`: the library's commands, and those of the paper below `augnet paper`."""

from augnet.app.cli import app
from augnet.app.lazy import add_command

PAPER = "Reproduce the paper: run its experiments, searches and reports."
add_command(app, "paper", "augnet.paper.cli:app", PAPER)

if __name__ == "__main__":
    app(prog_name="augnet")
