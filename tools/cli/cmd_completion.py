# SPDX-License-Identifier: Apache-2.0
"""`completion`: a script for bash, zsh or fish, written from the commands' own parsers."""

import shlex

import commands
from arguments import Parser, one_of

SHELLS = ("bash", "zsh", "fish")
FILE_VALUES = ("FILE", "DIR", "MODEL", "FILE.csv")


def completion_parser():
    parser = Parser("completion", description="Prints completions for a shell. bash: eval \"$(millpond completion bash)\" in ~/.bashrc; zsh: put the "
                    "output into a file _millpond on the fpath; fish: into ~/.config/fish/completions/millpond.fish.")
    parser.add_argument("shell", type=one_of(SHELLS, "shell"), metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    return parser


class Option:
    """One option of one command: its names, whether a value follows, and what the value can be."""

    def __init__(self, action):
        self.names = action.option_strings
        self.says = (action.help or "").replace("%%", "%")
        self.takes_value = action.nargs != 0
        self.takes_file = action.metavar in FILE_VALUES
        self.values = _values(action)


def _values(action):
    if action.metavar == "NAME" and "--soc" in action.option_strings:
        from layout import known_socs
        return known_socs()
    return []


def table():
    """{command: (what it does, its options, the words that may follow, whether a program follows)}."""
    rows = {}
    for name, row in commands.here().items():
        parser = commands.parser(name)
        options = [Option(action) for action in parser._actions if action.option_strings]
        words = {"demo": _demo_names, "bench": _bench_names, "completion": lambda: SHELLS}.get(name, tuple)()
        rows[name] = (row.says, options, list(words), "-- PROGRAM" in (parser.usage or ""))
    return rows


def _demo_names():
    import cmd_demo
    return [row.name for row in cmd_demo.DEMOS]


def _bench_names():
    import cmd_bench
    return cmd_bench.NAMES


def bash():
    lines = ["# Completions of millpond for bash, written by `millpond completion bash`.",
             "_millpond() {",
             "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} place words",
             "  COMPREPLY=()",
             "  if [ \"$COMP_CWORD\" -eq 1 ]; then",
             f"    COMPREPLY=($(compgen -W {shlex.quote(' '.join([*commands.here(), '--help', '--version']))} -- \"$word\"))",
             "    return",
             "  fi",
             "  # Behind -- the words are another program's.",
             "  for ((place = 2; place < COMP_CWORD; ++place)); do",
             "    if [ \"${COMP_WORDS[place]}\" = -- ]; then",
             "      if declare -F _command_offset >/dev/null; then _command_offset $((place + 1));",
             "      elif [ $((place + 1)) -eq \"$COMP_CWORD\" ]; then COMPREPLY=($(compgen -c -- \"$word\"));",
             "      else COMPREPLY=($(compgen -f -- \"$word\")); fi",
             "      return",
             "    fi",
             "  done",
             "  case $command in"]
    for name, (_, options, words, program) in table().items():
        lines.append(f"    {name})")
        valued = [option for option in options if option.takes_value]
        if valued:
            lines.append("      case $before in")
            for option in valued:
                kind = f"-W {shlex.quote(' '.join(option.values))}" if option.values else "-f" if option.takes_file else ""
                reply = f"COMPREPLY=($(compgen {kind} -- \"$word\")); " if kind else ""
                lines.append(f"        {' | '.join(option.names)}) {reply}return ;;")
            lines.append("      esac")
        names = [name for option in options for name in option.names] + words + (["--"] if program else [])
        lines.append(f"      COMPREPLY=($(compgen -W {shlex.quote(' '.join(names))} -- \"$word\"))")
        if name in ("graph", "plan"):
            lines.append("      case $word in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$word\")) ;; esac")
        lines.append("      ;;")
    lines += ["  esac", "}", "complete -o bashdefault -F _millpond millpond ./millpond"]
    return "\n".join(lines) + "\n"


def zsh():
    def plain(text):
        return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ";")

    lines = ["#compdef millpond ./millpond",
             "# Completions of millpond for zsh, written by `millpond completion zsh`.",
             "_millpond() {",
             "  local -a commands",
             "  commands=("]
    rows = table()
    lines += [f"    '{name}:{plain(says)}'" for name, (says, _, _, _) in rows.items()]
    lines += ["  )",
              "  if ((CURRENT == 2)); then _describe command commands; return; fi",
              "  local command=$words[2]",
              "  shift words",
              "  ((CURRENT--))",
              "  case $command in"]
    for name, (_, options, words, program) in rows.items():
        specs = []
        for option in options:
            value = ""
            if option.takes_value:
                value = f":value:({' '.join(option.values)})" if option.values else ":file:_files" if option.takes_file else ":value:"
            specs += [f"'{option_name}[{plain(option.says)}]{value}'" for option_name in option.names]
        if words:
            specs.append(f"'1:name:({' '.join(words)})'")
        elif program:
            specs.append("'*::program:_normal'")
        elif name in ("graph", "plan"):
            specs.append("'1:file:_files'")
        lines.append(f"    {name}) _arguments {' '.join(specs)} ;;")
    lines += ["  esac", "}", "_millpond \"$@\""]
    return "\n".join(lines) + "\n"


def fish():
    rows = table()
    lines = ["# Completions of millpond for fish, written by `millpond completion fish`."]
    for name, (says, options, words, program) in rows.items():
        lines.append(f"complete -c millpond -n __fish_use_subcommand -f -a {name} -d {shlex.quote(says)}")
        condition = f"-n '__fish_seen_subcommand_from {name}'"
        for option in options:
            names = " ".join(f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}" for text in option.names)
            kind = ""
            if option.takes_value:
                kind = f" -x -a {shlex.quote(' '.join(option.values))}" if option.values else " -r" if option.takes_file else " -x"
            lines.append(f"complete -c millpond {condition} {names}{kind} -d {shlex.quote(option.says)}")
        if words:
            lines.append(f"complete -c millpond {condition} -f -a {shlex.quote(' '.join(words))}")
        elif program:
            lines.append(f"complete -c millpond {condition} -a '(__fish_complete_subcommand)'")
    return "\n".join(lines) + "\n"


def completion(argv):
    shell = completion_parser().parse_args(argv).shell
    print({"bash": bash, "zsh": zsh, "fish": fish}[shell](), end="")
    return 0
