#!/usr/bin/env python3
"""Random kills: whoever is killed, by whatever signal, at whatever moment, tprun ends in time with the right code, what it wrote is
a beginning of the whole text, and nothing of the job is left.

usage: random_kills.py TPRUN MODEL [--rounds N] [--seed S] [--job shell|generate]

Every second round kills one process of a job of shells within the first moments of its life: tprun, mpirun, the step between
mpirun and a rank, a rank, what a rank started, and each of them before it has become what it will be. The others strike
a job that generates, while it starts, loads, prefills or decodes. Each round has a seed of its own, printed when it fails;
`--rounds 1 --seed S` plays it again (its moment, not the machine's). A round whose victim went by itself is played with the next
seed."""
import argparse, os, random, signal, subprocess, sys, tempfile, threading, time

from job_tree import Process, kind_of, pids_with, read, stopped, tree

MARK = "KILL_MARK"
GRACE_S = 5
BOUND_S = GRACE_S + 2
PHASES = ("start", "load", "prefill", "decode")
VICTIMS = ("rank", "mpirun", "tprun")
RANKS = (1, 2, 4)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
SHELL_MOMENTS_S = 0.6  # about twice what the shells need to be there
OWN_END = 9            # of a rank whose child was killed


def job_ids(pids):
    ids = set()
    for pid in pids:
        for entry in read(f"/proc/{pid}/environ").split(b"\0"):
            if entry.startswith(b"TPRUN_JOB_ID="):
                ids.add(entry.partition(b"=")[2].decode())
    return ids


def wait_for(condition, timeout_s):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    return None


class Job:
    def __init__(self, command, mark):
        self.mark, self.output = mark, bytearray()
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**os.environ, MARK: mark})
        self.reader = threading.Thread(target=self.read_output)
        self.reader.start()

    def read_output(self):
        while part := os.read(self.process.stdout.fileno(), 65536):
            self.output += part

    def running(self):
        return self.process.poll() is None

    def of_kind(self, *kinds):
        found = [(kind_of(Process(pid), self.process.pid), pid) for pid in sorted(pids_with(MARK, self.mark))]
        return [(kind, pid) for kind, pid in found if kind in kinds or (not kinds and kind)]

    def end(self):
        """(code, seconds, processes left); a tprun that hangs is told of and killed, code None."""
        begin, code = time.monotonic(), None
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            print(f"hangs:\n{tree(MARK, self.mark)}", flush=True)
            self.process.kill()
        took_s = time.monotonic() - begin
        left = "" if wait_for(lambda: not pids_with(MARK, self.mark), 10) else tree(MARK, self.mark)
        for pid in pids_with(MARK, self.mark):
            os.kill(pid, signal.SIGKILL)
        self.reader.join(10)
        return code, took_s, left


class Generate:
    """A job that writes a text, struck in one of its phases."""

    def __init__(self, args, dice):
        self.ranks, self.phase, self.number = dice.choice(RANKS), dice.choice(PHASES), dice.choice(SIGNALS)
        self.dice, self.args = dice, args
        self.story = f"{self.ranks} ranks generate, {self.phase}"
        self.command = command_line(args, self.ranks)

    def choose(self, job):
        """Waits for the phase and returns (kind, pid), or None when the job was over first."""
        if self.phase == "start":
            time.sleep(self.dice.uniform(0, 0.25))
        else:
            begun = {"decode": lambda: len(job.output) > len(self.args.prompt)}.get(self.phase, lambda: job.of_kind("rank"))
            wait_for(lambda: begun() or not job.running(), 60)
            time.sleep(self.dice.uniform(0, {"load": 0.15, "prefill": 0.5, "decode": 1.0}[self.phase]))
        kind = self.dice.choice(VICTIMS)
        found = wait_for(lambda: job.of_kind(kind) or not job.running(), 60)
        return self.dice.choice(found) if isinstance(found, list) else None

    def codes(self, kind):
        return (128 + self.number,)

    def wrong_output(self, output):
        return "" if self.args.texts[self.ranks].startswith(output) else "what it wrote is not a beginning of the text"


class Shells:
    """A job of two shells that sleep, struck soon after it was started."""
    ranks = 2

    def __init__(self, args, dice):
        self.number, self.dice = dice.choice(SIGNALS), dice
        self.moment_s = dice.uniform(0, SHELL_MOMENTS_S)
        self.story = f"shells, after {self.moment_s:.3f} s"
        self.command = [args.tprun, "--device", "cpu", "--quiet", "-n", "2", "--grace", str(GRACE_S), "--", "sh", "-c",
                        f"sleep 300 & wait; exit {OWN_END}"]

    def choose(self, job):
        time.sleep(self.moment_s)
        found = job.of_kind()
        if not found:
            return None
        kind = self.dice.choice(sorted({kind for kind, _ in found}))
        return self.dice.choice([one for one in found if one[0] == kind])

    def codes(self, kind):
        if kind != "child of a rank":
            return (128 + self.number,)
        # A shell's background children may ignore SIGINT.
        return () if self.number == signal.SIGINT else (OWN_END,)

    def wrong_output(self, output):
        return f"it wrote {bytes(output)}" if output else ""


def strike(job, plan):
    """(kind, codes) of the victim that was killed, or None when there was none."""
    choice = plan.choose(job)
    if choice is None or not job.running():
        return None
    victim = stopped(choice[1])
    if victim is None:
        return None
    kind = kind_of(victim, job.process.pid)
    codes = plan.codes(kind) if kind else ()
    # The job's own watcher, before it has its name, is a fork of tprun too: without it the job goes on.
    if codes and not (kind == "fork of tprun" and plan.number == signal.SIGKILL):
        os.kill(victim.pid, plan.number)
    else:
        codes = ()
    if Process(victim.pid).runs():
        os.kill(victim.pid, signal.SIGCONT)
    return (kind, codes) if codes else None


def play(args, seed, mark):
    """None when all is well, "void" when nobody was killed, otherwise what is wrong."""
    dice = random.Random(seed)
    kind_of_job = {"shell": Shells, "generate": Generate}.get(args.job) or (Shells if seed % 2 else Generate)
    plan = kind_of_job(args, dice)
    job, victim = Job(plan.command, mark), None
    try:
        victim = strike(job, plan)
        ids = job_ids(pids_with(MARK, mark))
    finally:
        if victim is None and job.running():
            job.process.terminate()
        code, took_s, left = job.end()
    if victim is None:
        return "void"
    kind, codes = victim
    args.kinds[kind] = args.kinds.get(kind, 0) + 1
    wrong = []
    if code is None or took_s > BOUND_S:
        wrong.append(f"took {took_s:.1f} s")
    if code not in codes and not (kind == "tprun" and code == -plan.number):
        wrong.append(f"code {code}, not {codes[0]}")
    if left:
        wrong.append(f"left\n{left}\n")
    files = [name for name in os.listdir("/dev/shm") if any(job_id in name for job_id in ids)]
    if files and wait_for(lambda: not any(os.path.exists("/dev/shm/" + name) for name in files), 5) is None:
        wrong.append(f"left {files}")
    wrong.append(plan.wrong_output(bytes(job.output)))
    wrong = list(filter(None, wrong))
    args.longest_s = max(args.longest_s, took_s)
    if not wrong:
        return None
    job.errors.seek(0)
    return (f"seed {seed}: {plan.story}: {plan.number.name} to {kind}: {', '.join(wrong)}\n"
            f"{job.errors.read().decode(errors='replace')}")


def command_line(args, ranks):
    return [args.tprun, "--device", "cpu", "--quiet", "--threads", "1", "-n", str(ranks), "--grace", str(GRACE_S),
            "generate", "--model", args.model, "--prompt", args.prompt, "--max-new-tokens", str(args.tokens), "--ignore-eos"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tprun")
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--job", choices=("shell", "generate"), help="of all rounds; default: in turn")
    args = parser.parse_args()
    args.longest_s, args.kinds = 0.0, {}
    # Whoever starts this in the background of a shell ignores SIGINT, and jobs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    first = args.seed if args.seed is not None else random.randrange(10**9)
    print(f"seed {first}", flush=True)
    args.prompt = "The French Bread Law states that bread sold as traditional must be made. " * 20
    args.texts = {} if args.job == "shell" else {
        ranks: subprocess.run(command_line(args, ranks), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True).stdout
        for ranks in RANKS}
    played, failures, seed = 0, 0, first
    while played < args.rounds:
        result = play(args, seed, f"{os.getpid()}-{seed}")
        seed += 1
        if result == "void":
            continue
        played += 1
        if result:
            failures += 1
            print("FAIL:", result, flush=True)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(args.kinds.items()))
    print(f"{played} kills from seed {first} ({kinds}), {failures} failures; "
          f"the longest end took {args.longest_s:.1f} s (bound {BOUND_S} s)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
