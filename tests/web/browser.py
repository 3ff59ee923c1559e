"""A headless Chromium that tests steer over two pipes (the DevTools protocol), and what it saw: errors, requests, pictures."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--hide-scrollbars", "--remote-debugging-pipe"]


class Browser:
    """`with Browser(chromium) as browser: page = browser.open(url)`."""

    def __init__(self, chromium):
        self.folder = tempfile.mkdtemp(prefix="kernbench-browser-")  # all that it writes
        command_read, self.out = os.pipe()
        self.inp, answer_write = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4. It makes a socket in its temporary folder, and ends where the path of
        # that socket has more than 107 bytes: so the folder is named relative to the one it is started in.
        start = 'exec 3<&%d 4>&%d "$@"' % (command_read, answer_write)
        self.process = subprocess.Popen(["bash", "-c", start, "bash", chromium, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"],
                                        pass_fds=(command_read, answer_write), cwd=self.folder, env={**os.environ, "TMPDIR": "."}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self.buffer, self.last, self.answers, self.pages = b"", 0, {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.terminate()
        self.process.wait(240)
        os.close(self.out)
        os.close(self.inp)
        end = time.monotonic() + 240
        while os.path.exists(self.folder) and time.monotonic() < end:  # its helpers may write for a moment longer
            shutil.rmtree(self.folder, ignore_errors=True)

    def open(self, url, **options):
        return Page(self, url, **options)

    def call(self, method, session=None, limit=240, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end, wanted = time.monotonic() + limit, self.last
        while wanted not in self.answers:
            self.listen(end - time.monotonic(), f"{method} was not answered")
        answer = self.answers.pop(wanted)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def listen(self, seconds, complaint):
        """Takes in what Chromium says next."""
        if not select.select([self.inp], [], [], max(0, seconds))[0]:
            raise TimeoutError(complaint)
        more = os.read(self.inp, 1 << 20)
        if not more:
            raise RuntimeError("Chromium has gone")
        *messages, self.buffer = (self.buffer + more).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].hear(message["method"], message["params"])


class Page:
    """A tab. `errors` and `requests` are all there were, from the first instant."""

    def __init__(self, browser, url, width=1200, height=900, phone=False, dark=False):
        self.browser, self.errors, self.requests, self.loaded = browser, [], [], False
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.requests, self.loaded = [], False
        self.call("Page.navigate", url=url)
        self.wait(lambda: self.loaded, "the page to load")

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def hear(self, event, params):
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])

    def run(self, script):
        """The value of an expression on the page; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait(self, condition, what, limit=240):
        """Until a function, or an expression on the page, says yes."""
        end = time.monotonic() + limit
        while not (condition() if callable(condition) else self.run(f"Boolean({condition})")):
            if time.monotonic() > end:
                raise TimeoutError(f"waited for {what}; errors: {self.errors}")
            try:
                self.browser.listen(0.05, "")
            except TimeoutError:
                pass

    def box(self, selector):
        """Where an element is in the window, after it was scrolled into sight."""
        return self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{ block: 'center' }});"
                        "const b = e.getBoundingClientRect(); return { x: b.x, y: b.y, width: b.width, height: b.height }; })()")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click(self, selector):
        box = self.box(selector)
        self.click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def click_at(self, x, y):
        self.hover(x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def type(self, selector, text):
        """Replaces what stands in a field, as a person does."""
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select?.(); }})()")
        self.call("Input.insertText", text=text)

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def picture(self, path, selector=None, height=None, scale=1):
        """The whole page, or one element of it; of a high one only the upper part."""
        clip = {"x": 0, "y": 0, **self.size()}
        if selector:
            clip = self.run(f"(() => {{ scrollTo(0, 0); const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                            "return { x: b.x, y: b.y + scrollY, width: b.width, height: b.height }; })()")
        clip["height"] = min(clip["height"], height or clip["height"])
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**clip, "scale": scale})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def size(self):
        return self.run("({ width: document.documentElement.clientWidth, height: document.documentElement.scrollHeight })")

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))

    def close(self):
        self.call("Page.close")
        del self.browser.pages[self.session]
