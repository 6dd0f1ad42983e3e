#!/usr/bin/env python3
"""Random kills of jobs that generate: whoever is killed, by whatever signal, in whatever phase, tprun ends in time with the right
code, what it wrote is a beginning of the whole text, and nothing of the job is left.

usage: random_kills.py TPRUN MODEL [--rounds N] [--seed S]

Each round has a seed of its own, printed when it fails; `--rounds 1 --seed S` plays it again (its moment, not the machine's)."""
import argparse, os, random, signal, subprocess, sys, tempfile, threading, time

GRACE_S = 5
BOUND_S = GRACE_S + 2
PHASES = ("start", "load", "prefill", "decode")
VICTIMS = ("rank", "mpirun", "tprun")
RANKS = (1, 2, 4)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def processes(mark):
    """pid -> name of every process that carries the round's mark."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if f"\0KILL_MARK={mark}\0".encode() in b"\0" + read(f"/proc/{pid}/environ"):
            state = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            if state and state[0] != b"Z":
                found[int(pid)] = read(f"/proc/{pid}/comm").decode().strip()
    return found


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
                                        env={**os.environ, "KILL_MARK": mark})
        self.reader = threading.Thread(target=self.read_output)
        self.reader.start()

    def read_output(self):
        while part := os.read(self.process.stdout.fileno(), 65536):
            self.output += part

    def running(self):
        return self.process.poll() is None

    def of_name(self, name):
        if name == "tprun":
            return [self.process.pid]
        wanted = "tprun-rank" if name == "rank" else name
        # The mpirun that is only asked for its version is not the job's.
        return sorted(pid for pid, comm in processes(self.mark).items()
                      if comm == wanted and b"--version" not in read(f"/proc/{pid}/cmdline"))


def choose_victim(job, dice, phase, prompt_bytes):
    """Waits for the phase and returns (name, pid), or None when the job was over first."""
    if phase == "start":
        time.sleep(dice.uniform(0, 0.25))
    else:
        ready = (lambda: len(job.output) > prompt_bytes) if phase == "decode" else (lambda: job.of_name("rank"))
        wait_for(lambda: ready() or not job.running(), 60)
        time.sleep(dice.uniform(0, {"load": 0.15, "prefill": 0.5, "decode": 1.0}[phase]))
    name = dice.choice(VICTIMS)
    pids = wait_for(lambda: job.of_name(name) or not job.running(), 60)
    return (name, dice.choice(pids)) if isinstance(pids, list) and job.running() else None


def play(args, seed, prompt, texts, mark):
    """None when all is well, "void" when the job was over before the kill, otherwise what is wrong."""
    dice = random.Random(seed)
    ranks, phase, number = dice.choice(RANKS), dice.choice(PHASES), dice.choice(SIGNALS)
    job = Job(command_line(args, ranks, prompt), mark)
    victim = choose_victim(job, dice, phase, len(prompt))
    ids = job_ids(processes(mark))
    story = f"seed {seed}: {ranks} ranks, {phase}, {number.name} to {victim[0] if victim else '-'}"
    try:
        if victim is None:
            return "void"
        os.kill(victim[1], number)
    except ProcessLookupError:
        return "void"
    finally:
        begin = time.monotonic()
        try:
            code = job.process.wait(60)
        except subprocess.TimeoutExpired:
            job.process.kill()
            code = None
        took_s = time.monotonic() - begin
        left = wait_for(lambda: not processes(mark), 10) is None and processes(mark)
        job.reader.join(10)
    wrong = []
    if code is None or took_s > BOUND_S:
        wrong.append(f"took {took_s:.1f} s")
    if code not in (128 + number, -number):
        wrong.append(f"code {code}")
    if left:
        wrong.append(f"left {left}")
    files = [name for name in os.listdir("/dev/shm") if any(job_id in name for job_id in ids)]
    if files and wait_for(lambda: not any(os.path.exists("/dev/shm/" + name) for name in files), 5) is None:
        wrong.append(f"left {files}")
    if not texts[ranks].startswith(bytes(job.output)):
        wrong.append("what it wrote is not a beginning of the text")
    args.longest_s = max(args.longest_s, took_s)
    if not wrong:
        return None
    job.errors.seek(0)
    return f"{story}: {', '.join(wrong)}\n{job.errors.read().decode(errors='replace')}"


def command_line(args, ranks, prompt):
    return [args.tprun, "--device", "cpu", "--quiet", "--threads", "1", "-n", str(ranks), "--grace", str(GRACE_S),
            "generate", "--model", args.model, "--prompt", prompt, "--max-new-tokens", str(args.tokens), "--ignore-eos"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tprun")
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tokens", type=int, default=3000)
    args = parser.parse_args()
    args.longest_s = 0.0
    # Whoever starts this in the background of a shell ignores SIGINT, and jobs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    first = args.seed if args.seed is not None else random.randrange(10**9)
    prompt = "The French Bread Law states that bread sold as traditional must be made. " * 20
    texts = {ranks: subprocess.run(command_line(args, ranks, prompt), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   check=True).stdout for ranks in RANKS}
    played, failures, seed = 0, 0, first
    while played < args.rounds:
        result = play(args, seed, prompt, texts, f"{os.getpid()}-{seed}")
        seed += 1
        if result == "void":
            continue
        played += 1
        if result:
            failures += 1
            print("FAIL:", result, flush=True)
    print(f"{played} kills from seed {first}, {failures} failures; the longest end took {args.longest_s:.1f} s (bound {BOUND_S} s)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
