"""Chromium without a display, driven by its own protocol: pages opened, scripts run, mouse moved, pictures taken.

Names of hosts lead nowhere, and every request that a page makes is kept in `requests`.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import time
from base64 import b64decode

import numpy as np
from PIL import Image
from websockets.sync.client import connect

FLAGS = (
    "--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --hide-scrollbars "
    "--disable-background-networking --disable-component-update --no-first-run --no-proxy-server "
    "--remote-debugging-port=0 --remote-allow-origins=*"
).split()


class Browser:
    """One page of one browser, of 640 by 480 pixels; ends with its `with` block."""

    def __init__(self, folder):
        nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        command = [shutil.which("chromium"), *FLAGS, nowhere, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        address = None
        for line in self._process.stderr:
            if found := re.search(r"ws://\S+", line):
                address = found[0]
                break
        assert address is not None
        self._socket = connect(address, max_size=None, open_timeout=60)
        self._number, self.requests, self.errors = 0, [], []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self._call(f"{domain}.enable")
        self.size(640, 480)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self._socket.close()
        self._process.terminate()
        self._process.wait(30)
        self._process.stderr.close()

    def _call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            told = json.loads(self._socket.recv(timeout=60))
            if told.get("method") == "Network.requestWillBeSent":
                self.requests.append(told["params"]["request"]["url"])
            elif told.get("method") == "Network.webSocketCreated":
                self.requests.append(told["params"]["url"])
            elif told.get("method") == "Runtime.exceptionThrown":
                self.errors.append(told["params"]["exceptionDetails"])
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]

    def size(self, width, height):
        """Give the page another size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def settled(self):
        """Wait until the page is seen the same twice."""
        before = None
        while before is None or (before != self.pixels()).any():
            before = self.pixels()
            time.sleep(0.5)

    def open(self, address):
        """Go to an address."""
        self._call("Page.navigate", url=address)

    def run(self, script):
        """What an expression of the page gives."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script, seconds=60.0):
        """Wait until an expression is true; its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(script)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{script} is still {value!r}; the page says {self.run('document.body.innerText')!r}")

    def mouse(self, kind, x, y, **more):
        """`kind` is Pressed, Moved or Released."""
        rest = {"button": "left", "clickCount": 1, "buttons": 0 if kind == "Released" else 1, **more}
        self._call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **rest)

    def click(self, x, y):
        """Press and release the left button."""
        self.mouse("Pressed", x, y)
        self.mouse("Released", x, y)

    def pixels(self):
        """The page as it is seen, (height, width, 3)."""
        data = b64decode(self._call("Page.captureScreenshot", format="png")["data"])
        with Image.open(io.BytesIO(data)) as image:
            return np.asarray(image.convert("RGB")).astype(int)
