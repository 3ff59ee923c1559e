"""A `kernbench web` for tests, and words to say to it."""
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess


class Serving:
    """`with Serving(binary, folder, "run.db") as server:`"""

    def __init__(self, binary, folder, *words, env=None):
        self.folder = pathlib.Path(folder)
        # A pipe of its own for what it says; interrupts are not ignored, whoever starts the test.
        self.process = subprocess.Popen([binary, "web", "--port", "0", *words], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        line = self.process.stdout.readline()
        found = re.search(r"http://([^/]+):(\d+)/", line)
        if not found:
            raise RuntimeError(line + self.process.stdout.read())
        self.url, self.port = found.group(0), int(found.group(2))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def ask(self, path, body=None, headers=None, method=None):
        """(status, JSON or text)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=240)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            sent = {"Content-Type": "application/json"} if data is not None else {}
            connection.request(method or ("GET" if data is None else "POST"), path, data, {**sent, **(headers or {})})
            answer = connection.getresponse()
            raw = answer.read()
            kind = answer.getheader("Content-Type", "")
            return answer.status, json.loads(raw) if kind.startswith("application/json") else raw
        finally:
            connection.close()

    def say(self, raw, wait=10):
        """What comes back when these bytes are sent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as link:
            try:
                link.sendall(raw)
                link.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: link.recv(65536), b""))
            except (ConnectionError, socket.timeout):  # before Python 3.10 no TimeoutError
                return b""
