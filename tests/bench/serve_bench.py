"""The cost of a training with its page open: five clients with event streams, each of
which also polls ten times a second for new steps and for numbers of the newest step.

    BENCH_ROUNDS=15 serve_bench.py

ResNet-18 with batch 8, watched with the default budget and backend="standalone". Rounds
with and without clients alternate; the clients are a separate process. Target: 1.02
for the time of a step, and for the processor time of the training's process.
"""

import contextlib
import io
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

CLIENTS, PER_SECOND = 5, 10
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
SECONDS = 2.0  # of a round
QUESTIONS = ("api/news?since={news}", "api/show?name=layer1.0&step=newest")


def client(port, token, on, asked):
    """Follows the page while `on` is set."""
    import http.client
    import json

    headers = {"X-Torchoscope-Token": token}
    while True:
        on.wait()
        stream = http.client.HTTPConnection("127.0.0.1", port)
        stream.request("GET", "/events", headers=headers)
        answer = stream.getresponse()
        link, news, number = http.client.HTTPConnection("127.0.0.1", port), 0, 0
        due = time.monotonic()
        while on.is_set():
            question = QUESTIONS[number % 2].format(news=news)
            link.request("GET", f"/{question}", headers=headers)
            got = link.getresponse()
            text = got.read()
            if got.status == 200 and number % 2 == 0:
                news = json.loads(text)["news"]
            with asked.get_lock():
                asked.value += got.status == 200
            number += 1
            due += 1 / PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))
        answer.close()
        stream.close()
        link.close()


class Training:
    def __init__(self, folder):
        import record_models
        import torch
        import torchoscope

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.model = record_models.resnet18()[0].train()
        self.input = torch.randn(8, 3, 64, 64)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        with contextlib.redirect_stderr(io.StringIO()):
            self.handle = torchoscope.watch(
                self.model, dir=folder, backend="standalone", port=0
            )

    def step(self):
        self.optimizer.zero_grad()
        self.model(self.input).sum().backward()
        self.optimizer.step()

    def round(self):
        """(wall, processor) seconds of a step, the means of a round."""
        end, steps = time.monotonic() + SECONDS, 0
        wall, cpu = time.perf_counter(), time.process_time()
        while time.monotonic() < end:
            self.step()
            steps += 1
        cost = time.perf_counter() - wall, time.process_time() - cpu
        return [value / steps for value in cost]


def main():
    method = multiprocessing.get_context("spawn")
    on, asked = method.Event(), method.Value("q", 0)
    looked, alone = [], []
    with tempfile.TemporaryDirectory() as folder:
        training = Training(folder)
        server = training.handle._page.server
        for _ in range(5):
            training.step()
        args = server.port, server._core.token, on, asked
        clients = [
            method.Process(target=client, args=args, daemon=True) for _ in range(CLIENTS)
        ]
        for one in clients:
            one.start()
        on.set()
        while asked.value < 10 * CLIENTS:  # all of them have started
            training.step()
        for _ in range(ROUNDS):
            on.clear()
            training.step()
            time.sleep(0.3)
            alone.append(training.round())
            on.set()
            time.sleep(0.3)
            before = asked.value
            looked.append(training.round())
            rate = (asked.value - before) / SECONDS
        for one in clients:
            one.kill()
            one.join()
        training.handle.close()
    table = bench.Table(f"A step with {CLIENTS} clients, {rate:.0f} answers a second")
    for at, what in enumerate(("time of a step", "processor time of the process")):
        over, under = ([one[at] for one in some] for some in (looked, alone))
        table.ratio(what, over, under, 1.02)
    table.line("a step alone", [one[0] for one in alone], bench.seconds_text)
    sys.exit(table.short > 0)


if __name__ == "__main__":
    main()
