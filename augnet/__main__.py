"""The command `augnet`: the library's commands, and those of the paper below `augnet paper`."""

from augnet.app.cli import app
from augnet.paper.cli import app as paper

app.add_typer(paper, name="paper")

if __name__ == "__main__":
    app(prog_name="augnet")
