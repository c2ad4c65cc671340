"""`python -m sanql` is the command `sanql`."""

from sanql.cli.main import main

if __name__ == "__main__":
    main(prog_name="sanql")
