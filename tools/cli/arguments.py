# SPDX-License-Identifier: Apache-2.0
"""argparse with the nearest name where one was mistyped, and the command's name as the user calls it."""

import argparse

from layout import COMMAND


class Parser(argparse.ArgumentParser):
    def __init__(self, command, usage=None, **more):
        self.command = command
        super().__init__(prog=f"{COMMAND} {command}", usage=f"{COMMAND} {command} {usage}" if usage else None, **more)

    def parse_args(self, args=None, namespace=None):
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            self.unknown(rest)
        return found

    def unknown(self, rest):
        import nearest
        typed = rest[0].partition("=")[0]
        if typed.startswith("-"):
            known = [option for action in self._actions for option in action.option_strings]
            listed = ", ".join(option for option in known if option.startswith("--"))
            self.error(f"unknown option '{typed}'{nearest.hint(typed, known)}; known: {listed}")
        self.error(f"'{typed}' is one argument too many")


def one_of(names, what):
    """A type for add_argument: one of these names, or a refusal that has the nearest and all of them."""
    def parse(text):
        if text in names:
            return text
        import nearest
        raise argparse.ArgumentTypeError(f"unknown {what} '{text}'{nearest.hint(text, names)}; known: {', '.join(names)}")
    return parse
