"""`tprun chat` as a user meets it: through a pipe, and on a terminal with line editing and Ctrl-C.

usage: chat_terminal.py TPRUN MODEL
"""
import os
import pty
import re
import select
import subprocess
import sys
import time

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
TIMEOUT_S = 60
failures = []


def check(what, truth, seen):
    if not truth:
        failures.append(what)
        print(f"FAIL: {what}: {seen!r}")


def piped(command, text):
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S, env=os.environ | AS_ROOT)
    return result.returncode, result.stdout


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, os.environ | AS_ROOT)
        self.text = ""

    def wait_for(self, pattern):
        """What came up to and with the pattern."""
        end = time.monotonic() + TIMEOUT_S
        while not (match := re.search(pattern, self.text, re.S)):
            if time.monotonic() > end or not select.select([self.fd], [], [], 1)[0]:
                if time.monotonic() > end:
                    raise SystemExit(f"FAIL: no {pattern!r} in {self.text!r}")
                continue
            try:
                self.text += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                raise SystemExit(f"FAIL: ended without {pattern!r}: {self.text!r}")
        seen, self.text = self.text[:match.end()], self.text[match.end():]
        return seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    tprun, model = sys.argv[1:]
    chat = [tprun, "--device", "cpu", "-n", "2", "chat", "--model", model]
    short = chat + ["--quiet", "--max-new-tokens", "8"]
    code, first = piped(short, "What is a chip?\n")
    check("a message gets an answer", code == 0 and first.strip() != "", (code, first))
    code, twice = piped(short, "What is a chip?\n/reset\nWhat is a chip?\n")
    check("/reset forgets", (code, twice) == (0, first * 2), twice)
    code, other = piped(short, "What is a chip?\nWhat is a chip?\n")
    check("the conversation goes on without it", code == 0 and other.startswith(first), other)
    code, told = piped(short + ["--system", "Speak of ovens."], "What is a chip?\n/system\nWhat is a chip?\n")
    check("/system changes and drops the system message", code == 0 and told.endswith(first) and not told.startswith(first), told)
    code, lines = piped(short, "What is\\\na chip?\n")
    block = piped(short, '"""\nWhat is\na chip?\n"""\n')
    check("two ways to write several lines", (code, lines) == block, (lines, block))
    code, text = piped(short, "")
    check("no message, no answer", (code, text) == (0, ""), (code, text))

    terminal = Terminal(chat + ["--max-new-tokens", "8"])
    terminal.wait_for("/help lists the commands.*> ")
    terminal.type("/nonsense\n")
    terminal.wait_for("there is no command /nonsense.*/reset.*> ")
    terminal.type("What is a chip?\n")
    seen = terminal.wait_for(r"\[8 tokens, [0-9.]+ tokens/s; [0-9]+ of [0-9]+ prompt tokens were new\].*> ")
    check("the same on a terminal", first.strip() in seen.replace("\r\n", "\n"), seen)
    terminal.type("And a bakery?\n")
    new, whole = map(int, re.search(r"; (\d+) of (\d+) prompt", terminal.wait_for(r"were new\].*> ")).groups())
    check("only new tokens go through the model", new < whole / 2, (new, whole))
    terminal.type("thrown away\x03")
    terminal.wait_for("> ")
    terminal.type("/exit\n")
    check("/exit ends it", terminal.end() == 0, None)

    terminal = Terminal(chat + ["--max-new-tokens", "400", "--ignore-eos"])
    terminal.wait_for("> ")
    terminal.type("Tell me all.\n")
    terminal.wait_for(r"Tell me all\.\r?\n.*[a-z]{3}")
    terminal.type("\x03")
    tokens = int(re.search(r"\[(\d+) tokens", terminal.wait_for(r"were new\].*> ")).group(1))
    check("Ctrl-C stops the answer and not the program", 0 < tokens < 400, tokens)
    terminal.type("\x04")
    check("the end of input ends it", terminal.end() == 0, None)
    print(f"{len(failures)} failures")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
