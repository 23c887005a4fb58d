"""What a sub-command offers to the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import argparse


class Command(Protocol):
    """A sub-command: the object named `COMMAND` in its module.

    Importing the module and preparing the parser must stay light, since `ptx --help` does both for
    every command; whatever a command needs is imported inside `run`.
    """

    @property
    def name(self) -> str:
        """Returns the word that calls the command."""

    @property
    def help(self) -> str:
        """Returns one line for the list of commands."""

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments to its parser."""

    def run(self, args: argparse.Namespace) -> int:
        """Does the work and returns the exit code.

        Raises:
            PtxError: what the user can act on; `main` prints it.
        """
