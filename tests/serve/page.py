"""The page of `tprun serve` in headless Chromium; 77 (skipped) where there is none.

usage: page.py TPRUN MODEL [SCREENSHOT.png]
"""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from running_server import running_server

TIMEOUT_S = 60
failures = []


def check(what, truth, seen):
    if not truth:
        failures.append(what)
        print(f"FAIL: {what}: {seen!r}")


class Browser:
    """Chromium, spoken to over the pipe of its DevTools: JSON that ends in a zero byte."""

    def __init__(self, program, profile):
        to_read, self.to_write = os.pipe()
        self.to_hear, to_say = os.pipe()
        to_read, to_say = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_read, to_say))

        def inherit():
            os.dup2(to_read, 3)
            os.dup2(to_say, 4)

        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--remote-debugging-pipe", f"--user-data-dir={profile}", "--window-size=1000,800", "about:blank"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=inherit, pass_fds=(3, 4))
        os.close(to_read)
        os.close(to_say)
        self.rest, self.number, self.session = b"", 0, None

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.to_hear, 1 << 16)
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url):
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_until(self, expression):
        end = time.monotonic() + TIMEOUT_S
        while not self.value(expression):
            if time.monotonic() > end:
                raise SystemExit(f"FAIL: never {expression}; the page shows {self.value('document.body.innerText')!r}")
            time.sleep(0.1)

    def fill(self, **fields):
        for name, value in fields.items():
            self.value(f"document.getElementById('{name}').value = {json.dumps(value)}")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait(30)


def completion(url, prompt, tokens):
    body = json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body), timeout=60) as response:
        return json.load(response)["choices"][0]["text"]


def try_page(browser, server, screenshot):
    idle = "!document.body.classList.contains('busy')"
    out = "document.getElementById('out').innerText"
    browser.open(server.url)
    browser.wait_until("document.getElementById('chips') && document.getElementById('chips').children.length > 0")
    check("it shows the model", browser.value("document.getElementById('model').textContent") == "tiny", None)
    check("and as many chips as ranks", browser.value("document.getElementById('chips').children.length") == 2, None)
    browser.fill(prompt="A chip is", tokens="40", temperature="0")
    browser.value("document.getElementById('send').click()")
    browser.wait_until("document.getElementById('speed').textContent.endsWith('tokens/s')")
    browser.wait_until(idle)
    want = "A chip is" + completion(server.url, "A chip is", 40)
    check("the text is the API's", browser.value("document.getElementById('out').textContent") == want, browser.value(out))
    browser.fill(prompt="What is a chip?", mode="chat", tokens="30")
    browser.value("document.getElementById('clear').click(); document.getElementById('send').click()")
    browser.wait_until(idle)
    browser.fill(prompt="And a bakery?")
    browser.value("document.getElementById('send').click()")
    browser.wait_until(idle)
    check("a conversation has two turns", browser.value("messages.map(m => m.role).join()") == "user,assistant,user,assistant",
          browser.value(out))
    if screenshot:
        browser.screenshot(screenshot)
    browser.fill(prompt="Tell me all.", tokens="900")
    browser.value("document.getElementById('send').click()")
    browser.wait_until("messages.length === 5 && document.getElementById('speed').textContent !== ''")
    browser.value("document.getElementById('stop').click()")
    browser.wait_until(idle)
    browser.fill(mode="completion", prompt="x", tokens="100000")
    browser.value("document.getElementById('send').click()")
    browser.wait_until("document.querySelector('.bad') !== null")
    check("an error is shown", "max_tokens" in browser.value("document.querySelector('.bad').textContent"), browser.value(out))


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: no Chromium")
        return 77
    tprun, model, *screenshot = sys.argv[1:]
    with running_server(tprun, model, ranks=2) as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            try_page(browser, server, screenshot[0] if screenshot else None)
        finally:
            browser.close()
    print(f"{len(failures)} failures")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
