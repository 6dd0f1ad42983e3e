#!/usr/bin/env python3
"""The processes of a job under test: found by a variable of their environment, named by what they are to the job, told in full when
something hangs.

usage: job_tree.py VARIABLE VALUE   prints each process that carries VARIABLE=VALUE: what it waits for, its signals, its command"""
import os, signal, sys, time


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class Process:
    """What /proc says of a process at one moment; `state` is empty when it is gone."""

    def __init__(self, pid):
        self.pid = pid
        stat = read(f"/proc/{pid}/stat")
        fields = stat.rpartition(b")")[2].split()
        self.state, self.parent = (fields[0].decode(), int(fields[1])) if fields else ("", 0)
        self.name = stat[stat.find(b"(") + 1:stat.rfind(b")")].decode(errors="replace")
        self.command = read(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")[:-1]

    def runs(self):
        return self.state not in ("", "Z", "X")

    def line(self):
        status = read(f"/proc/{self.pid}/status").decode(errors="replace").splitlines()
        masks = " ".join(line.replace("\t", "") for line in status if line.startswith(("SigPnd", "ShdPnd", "SigBlk", "SigIgn")))
        waits = read(f"/proc/{self.pid}/wchan").decode() or "-"
        return f"{self.pid} child of {self.parent} {self.state} {self.name} in {waits} {masks}: {' '.join(self.command)[:200]}"


def pids_with(variable, value):
    """Every process that runs and carries variable=value, the caller apart."""
    entry = f"\0{variable}={value}\0".encode()
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if pid != os.getpid() and entry in b"\0" + read(f"/proc/{pid}/environ") and Process(pid).runs()]


def kind_of(process, tprun):
    """What a process is to the job of the tprun whose pid is given, or None when it is no part of it."""
    if process.pid == tprun:
        return "tprun"
    if not process.runs() or process.name == "tprun-watcher":
        return None
    parent = Process(process.parent).name
    if process.name == "mpirun" and "--version" in process.command:
        return "probe"  # asks mpirun for its version
    if process.name in ("tprun", "mpirun", "tprun-exec") and parent == process.name:
        return "fork of " + process.name  # has not become its program yet
    if parent == "tprun-exec":
        return "rank"
    if process.name in ("mpirun", "tprun-exec"):
        return process.name
    return "child of a rank"


def stopped(pid, timeout_s=0.5):
    """Stops a process, so that it is still what it is when it is killed. The process, or None when it went before."""
    try:
        os.kill(pid, signal.SIGSTOP)
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            process = Process(pid)
            if not process.runs():
                return None
            if process.state == "T":
                return process
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    return None


def tree(variable, value):
    return "\n".join(Process(pid).line() for pid in pids_with(variable, value))


if __name__ == "__main__":
    print(tree(sys.argv[1], sys.argv[2]))
