"""A `tprun serve` for tests: started on a free port, ended when the block is left."""
import contextlib
import os
import signal
import subprocess

START_S = 120


class Server:
    def __init__(self, process, url):
        self.process, self.url = process, url

    def stop(self, number=signal.SIGTERM, timeout=60):
        self.process.send_signal(number)
        return self.process.wait(timeout)


@contextlib.contextmanager
def running_server(tprun, model, *options, ranks=1):
    command = [tprun, "--device", "cpu", "--quiet", "--grace", "60", "-n", str(ranks), "serve", "--model", model, "--port", "0",
               *options]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=os.environ | as_root)
    try:
        line = process.stdout.readline().strip()
        if not line.startswith("serving "):
            raise SystemExit(f"the server did not start: {line!r}, code {process.wait(START_S)}")
        yield Server(process, line.rsplit(" ", 1)[1])
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(90)
        process.stdout.close()
