"""`gpcnoise doctor`: is everything here that a run needs?"""

from __future__ import annotations

from dataclasses import asdict

import typer

from gpcnoise_cli.cli.console import counted, emit_json, print_table, say, stderr
from gpcnoise_cli.cli.options import Json


def doctor(json: Json = False) -> None:
    """Check versions, devices, threads, data folder and write access, and train for one step.

    Exits with 1 if something fails; warnings do no harm.

    Example: gpcnoise doctor
    """
    from gpcnoise_cli.doctor import FAIL, WARN, examine

    findings = []
    with stderr().status("checking") as status:
        for finding in examine():
            findings.append(finding)
            status.update(f"checked: {finding.check}")
    failed = [finding.check for finding in findings if finding.state == FAIL]
    if json:
        emit_json({"ok": not failed, "checks": [asdict(finding) for finding in findings]})
    else:
        print_table(("check", "state", "detail"), [(one.check, one.state, one.detail) for one in findings])
        warned = sum(finding.state == WARN for finding in findings)
        notes = f" ({counted(warned, 'warning')})" if warned else ""
        say(f"{'failed: ' + ', '.join(failed) if failed else 'ready to train'}{notes}.")
    if failed:
        raise typer.Exit(1)
