"""`python -m sanql` is the command `sanql`."""

from sanql.cli.main import main
from sanql.execute.lean import leave_out


def run() -> None:
    """Run the command; it shows no data frames, so it need not wait for pandas."""
    leave_out("pandas")
    main(prog_name="sanql")


if __name__ == "__main__":
    run()
