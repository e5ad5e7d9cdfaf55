"""The root command: mounts the verbs and decides how every error looks and which exit code it gives.

`main` does all the work and returns the exit code, so tests call it in-process; `run` is the installed script. Verbs
import what is heavy inside their functions, so this module, `--help` and shell completion stay quick.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from gpcnoise_cli import __version__
from gpcnoise_cli.cli import (
    bench,
    claims,
    config,
    data,
    doctor,
    evaluate,
    export,
    plan,
    plot,
    predict,
    report,
    reproduce,
    sweep,
    tables,
    train,
)
from gpcnoise_cli.cli.interruption import end_on_signal
from gpcnoise_cli.cli.streams import prepare_streams
from gpcnoise_cli.errors import GpcnoiseError

app = typer.Typer(
    name="gpcnoise",
    help="Scalable Gaussian process classification with step, probit, logit and softmax likelihoods.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(train.train)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(export.export)
app.command()(config.config)
app.command()(plan.plan)
app.add_typer(data.app, name="data")
app.command()(sweep.sweep)
app.add_typer(reproduce.app, name="reproduce")
app.add_typer(tables.app, name="tables")
app.add_typer(claims.app, name="claims")
app.command()(plot.plot)
app.command()(report.report)
app.add_typer(bench.app, name="bench")
app.command()(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpcnoise {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    # Declared for the help page: `main` takes it out of the arguments, so that it may stand anywhere.
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (also: GPCNOISE_DEBUG=1).")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    # Before anything imports TensorFlow: its C++ start-up notices are not messages of this program.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    arguments, debug = _take_debug(list(sys.argv[1:] if argv is None else argv))
    if sys.platform == "win32":
        return _report("gpcnoise runs on Linux and macOS only; on Windows, install it in WSL.", 1, debug=False)
    try:
        result = app(arguments, prog_name="gpcnoise", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except GpcnoiseError as error:
        return _report(str(error), error.exit_code, debug)
    except typer.TyperException as error:
        if not error.format_message().strip():  # a group without a verb: its help page has just been shown
            return error.exit_code
        return _report(_usage_sentence(error), error.exit_code, debug)
    except (KeyboardInterrupt, typer.Abort):
        return _report("interrupted.", 130, debug)
    except BrokenPipeError:
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _report(f"the system refused: {error.strerror or error}{where}; check space and permissions.", 1, debug)
    except MemoryError:
        return _report("out of memory; use fewer inducing points (-m) or smaller batches (--batch-size).", 1, debug)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except Exception as error:
        sentence = f"this is a defect of gpcnoise, not of your input: {type(error).__name__}: {_one_line(str(error))}"
        hint = "" if debug else "; run again with --debug to see where, and please report it"
        return _report(sentence.rstrip(". ") + hint + ".", 1, debug)


def _take_debug(arguments: list[str]) -> tuple[list[str], bool]:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    debug = len(kept) < end or os.environ.get("GPCNOISE_DEBUG", "") not in ("", "0")
    return kept + arguments[end:], debug


def _usage_sentence(error: typer.TyperException) -> str:
    message = _one_line(error.format_message())
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "gpcnoise"
    message = message[:1].lower() + message[1:]
    return f"{message.rstrip('.')}{'' if message.endswith('?') else ';'} see `{command} --help`."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _report(sentence: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"gpcnoise: error: {_one_line(sentence)}", file=sys.stderr)
    return code


def run() -> None:
    """The `gpcnoise` script."""
    prepare_streams()
    end_on_signal()
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        # Said already: the interpreter must not complain again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 1
    gc.freeze()  # or the interpreter would look for garbage in all of TensorFlow before it ends
    sys.exit(code)
