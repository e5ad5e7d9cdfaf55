"""`python -m gpcnoise_cli`: the command, where its script is not on the PATH."""

from gpcnoise_cli.cli.main import run

if __name__ == "__main__":
    run()
