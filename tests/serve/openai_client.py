"""The real `openai` client against `tprun serve`.

usage: openai_client.py TPRUN MODEL
"""
import concurrent.futures
import json
import sys
import threading
import time
import urllib.error
import urllib.request

import openai

from running_server import running_server

CLIENTS = 64
failures = []


def check(what, truth, seen=None):
    if not truth:
        failures.append(what)
        print(f"FAIL: {what}" + ("" if seen is None else f": {seen!r}"))


def refused(call):
    """The status and message of an error."""
    try:
        call()
    except openai.APIStatusError as error:
        return error.status_code, error.body["message"] if isinstance(error.body, dict) else str(error.body)
    return 200, ""


def get(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.read().decode()


def metric(server, name):
    for line in get(server.url + "/metrics").splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return None


def completions(client):
    plain = client.completions.create(model="tiny", prompt="A chip is", max_tokens=12, temperature=0)
    again = client.completions.create(model="tiny", prompt="A chip is", max_tokens=12, temperature=0, stream=True)
    pieces = [chunk.choices[0].text for chunk in again]
    check("streamed pieces joined are the whole", "".join(pieces) == plain.choices[0].text, (pieces, plain.choices[0].text))
    check("a stream comes in pieces", len([piece for piece in pieces if piece]) > 3, pieces)
    check("usage counts", (plain.usage.completion_tokens, plain.choices[0].finish_reason) == (12, "length"), plain)
    word = plain.choices[0].text.strip().split()[1]
    cut = client.completions.create(model="tiny", prompt="A chip is", max_tokens=12, temperature=0, stop=word)
    check("a stop text ends and is left out", cut.choices[0].text == plain.choices[0].text.split(word)[0], cut.choices[0].text)
    check("with that reason", cut.choices[0].finish_reason == "stop", cut.choices[0].finish_reason)
    several = client.completions.create(model="tiny", prompt=["A chip", "The"], n=2, max_tokens=8, seed=3, temperature=2.0)
    check("n choices of each prompt", [choice.index for choice in several.choices] == [0, 1, 2, 3])
    alone = client.completions.create(model="tiny", prompt="The", n=2, max_tokens=8, seed=3, temperature=2.0)
    check("choices do not depend on what else is asked for",
          [c.text for c in several.choices[2:]] == [c.text for c in alone.choices], several.choices)
    check("samples differ", several.choices[0].text != several.choices[1].text)
    echo = client.completions.create(model="tiny", prompt="A chip is", max_tokens=12, temperature=0, echo=True, logprobs=2)
    check("echo", echo.choices[0].text == "A chip is" + plain.choices[0].text, echo.choices[0].text)
    logprobs = echo.choices[0].logprobs
    check("logprobs of each token", len(logprobs.token_logprobs) == 12 and len(logprobs.top_logprobs[0]) == 2, logprobs)
    check("the greedy token is the likeliest", abs(max(logprobs.top_logprobs[0].values()) - logprobs.token_logprobs[0]) < 1e-6)


def chat(client):
    messages = [{"role": "user", "content": "What is a chip?"}]
    plain = client.chat.completions.create(model="tiny", messages=messages, max_tokens=10, temperature=0, logprobs=True, top_logprobs=1)
    check("a message of the assistant", plain.choices[0].message.role == "assistant" and plain.choices[0].message.content)
    check("logprobs of a conversation", len(plain.choices[0].logprobs.content) == 10, plain.choices[0].logprobs)
    stream = client.chat.completions.create(model="tiny", messages=messages, max_tokens=10, temperature=0, stream=True,
                                            stream_options={"include_usage": True})
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check("a streamed message is the same", text == plain.choices[0].message.content, text)
    check("usage comes last", chunks[-1].usage and chunks[-1].usage.completion_tokens == 10, chunks[-1])
    check("a prompt that was there is not computed again", chunks[-1].usage.prompt_tokens_details.cached_tokens > 0, chunks[-1].usage)


def errors(client, server):
    status, message = refused(lambda: client.completions.create(model="other", prompt="x"))
    check("another model is 404", status == 404 and "other" in message, (status, message))
    status, message = refused(lambda: client.completions.create(model="tiny", prompt="x", max_tokens=100000))
    check("what does not fit is 400", status == 400 and "context" in message, (status, message))
    status, message = refused(lambda: client.completions.create(model="tiny", prompt="x", temperature=-1))
    check("a bad value is 400", status == 400 and "temperature" in message, (status, message))
    status, message = refused(lambda: client.chat.completions.create(model="tiny", messages=[]))
    check("no messages is 400", status == 400, (status, message))
    status, message = refused(lambda: client.completions.create(model="tiny", prompt="x" * 70000))
    check("a body that is too large is 413", status == 413, (status, message))
    stranger = openai.OpenAI(base_url=server.url + "/v1", api_key="wrong", max_retries=0)
    status, message = refused(lambda: stranger.models.list())
    check("a wrong key is 401", status == 401 and "API key" in message, (status, message))
    check("the model is listed", [model.id for model in client.models.list()] == ["tiny"])
    try:
        get(server.url + "/nothing")
        check("a wrong path is 404", False)
    except urllib.error.HTTPError as error:
        check("a wrong path is 404", error.code == 404 and json.load(error)["error"]["message"], error.code)
    health = json.loads(get(server.url + "/health"))
    check("health", health["status"] == "ok" and health["model"] == "tiny", health)
    check("the page needs nothing from elsewhere", "<script>" in (page := get(server.url + "/")) and "http" not in page.replace("http-equiv", ""))


def cancelled(server, least):
    """Whether so many continuations were cancelled, within 10 seconds."""
    for _ in range(100):
        if metric(server, 'tprun_continuations_total{finish_reason="cancelled"}') >= least:
            return True
        time.sleep(0.1)
    return False


def cancels(client, server):
    stream = client.completions.create(model="tiny", prompt="The", max_tokens=150, stream=True, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    check("a client that goes is cancelled", cancelled(server, 1))
    try:
        client.with_options(timeout=0.1).completions.create(model="tiny", prompt="The", max_tokens=900, extra_body={"ignore_eos": True})
        check("a client gives up", False)
    except openai.APITimeoutError:
        check("a client that gives up is cancelled", cancelled(server, 2))
    check("nothing is left running", metric(server, "tprun_requests_running") == 0)


def load(client):
    def ask(seed):
        prompt = f"The {seed}. of the"
        stream = client.completions.create(model="tiny", prompt=prompt, max_tokens=6 + seed % 7, seed=seed, temperature=1.0, stream=True)
        return "".join(chunk.choices[0].text for chunk in stream)

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        together = list(pool.map(ask, range(CLIENTS)))
    alone = [ask(seed) for seed in range(CLIENTS)]
    check("64 clients get what each would get alone", together == alone, [i for i in range(CLIENTS) if together[i] != alone[i]])
    check("different seeds write different texts", len(set(alone)) > CLIENTS // 2)


def refuses_when_full(tprun, model):
    with running_server(tprun, model, "--batch", "1", "--max-queue", "1") as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)

        def ask():
            return refused(lambda: client.completions.create(model="tiny", prompt="The", max_tokens=100, extra_body={"ignore_eos": True}))[0]

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            states = [future.result() for future in [pool.submit(ask) for _ in range(12)]]
        check("a full queue is 429", set(states) == {200, 429}, states)


def times_out(tprun, model):
    with running_server(tprun, model, "--request-timeout", "0.05") as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        try:
            answer = client.completions.create(model="tiny", prompt="The", max_tokens=900, extra_body={"ignore_eos": True})
            check("what is not ready in time ends with that reason", answer.choices[0].finish_reason == "timeout", answer.choices[0])
        except openai.APIStatusError as error:
            check("what does not begin in time is 504", error.status_code == 504, error.status_code)
        check("and is cancelled", cancelled(server, 1))


def drains(tprun, model):
    with running_server(tprun, model, "--batch", "2", ranks=2) as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        begun = threading.Event()
        texts = []

        def ask():
            stream = client.completions.create(model="tiny", prompt="The", max_tokens=60, temperature=0, stream=True,
                                               extra_body={"ignore_eos": True})
            reasons = []
            for chunk in stream:
                begun.set()
                reasons.append(chunk.choices[0].finish_reason)
            texts.append(reasons[-1])

        thread = threading.Thread(target=ask)
        thread.start()
        begun.wait(60)
        code = server.stop()
        thread.join(60)
        check("what was accepted is finished after SIGTERM", texts == ["length"], texts)
        check("and the code is the signal's", code == 143, code)


def main():
    tprun, model = sys.argv[1:]
    with running_server(tprun, model, "--api-key", "secret", "--request-bytes", "60000", "--batch", "4") as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0)
        completions(client)
        chat(client)
        errors(client, server)
        cancels(client, server)
        load(client)
    refuses_when_full(tprun, model)
    times_out(tprun, model)
    drains(tprun, model)
    print(f"{len(failures)} failures")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
