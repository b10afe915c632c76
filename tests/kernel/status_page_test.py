"""A browser opens the status page: headless Chromium, told what to do by its own driver (WebDriver
over HTTP, https://www.w3.org/TR/webdriver2/), of the packages chromium and chromium-driver.

With PEX_SCREENSHOTS=DIRECTORY each page is saved there as it was seen. With axe-core at hand (its
axe.min.js named by PEX_AXE, or installed with `npm install --global axe-core`), its rules for WCAG
A and AA are tried as well; our own checks of contrast and keyboard run in any case.
"""

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import harness

SOFTWARE = ["task-clock", "context-switches", "minor-faults"]
TAB = "\ue004"  # of WebDriver's table of keys
WIDE, NARROW = 1280, 400  # CSS pixels
HEIGHT = 900

# As far as the name of a cgroup may hold it: all but '/', NUL and line breaks.
# With what is shown of a name that cannot be shown as it is.
HOSTILE = {
    "<script>alert(1)<script>": None,
    "<img src=x onerror=alert(2)>": None,
    "\"' onmouseover=\"alert(3)": None,
    "&lt;b&gt;&amp;": None,
    "a tab\tand\x1ba bell\x07": "a tab\u2409and\u241ba bell\u2407",
    os.fsdecode(b"broken \xff\xfe utf-8"): "broken \ufffdff\ufffdfe utf-8",
    "a" * 200: None,
}


class DriverError(AssertionError):
    """What the driver answered instead of doing it."""


class Browser:
    """One headless Chromium with a profile of its own."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="pex_test_")
        self.url = f"http://127.0.0.1:{harness.free_port()}"
        self.session = None

    def __enter__(self):
        port = self.url.rpartition(":")[2]
        with open(f"{self.scratch}/log", "w", encoding="utf-8") as log:
            self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=log,
                                           stderr=log, env={**os.environ, "HOME": self.scratch})
        try:
            harness.until("the browser's driver", self._is_ready)
            self.session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": self._flags()},
                "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, failure, *_):
        if self.session:
            with contextlib.suppress(DriverError, OSError):
                self._call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()
        if failure is not None:
            print(harness.read_text(f"{self.scratch}/log")[-4000:], file=sys.stderr)
        shutil.rmtree(self.scratch, ignore_errors=True)  # a helper of the browser may still write

    def _flags(self):
        """No page but ours is asked for anything, whatever a browser likes to ask for."""
        flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update",
                 "--disable-default-apps", "--disable-sync", "--hide-scrollbars",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                 f"--window-size={WIDE},{HEIGHT}", f"--user-data-dir={self.scratch}/profile"]
        return flags + (["--no-sandbox"] if os.geteuid() == 0 else [])

    def _is_ready(self):
        try:
            return self._call("GET", "/status")["ready"]
        except OSError:
            return False

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=3 * harness.PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise DriverError(json.load(error)["value"]["message"]) from error

    def _do(self, path, body):
        return self._call("POST", f"/session/{self.session}{path}", body)

    def open(self, url):
        self._do("/url", {"url": url})

    def run(self, script, *args):
        """What `script`, the body of a function, returns in the page."""
        return self._do("/execute/sync", {"script": script, "args": args})

    def run_async(self, script, *args):
        """The same, of a script that calls its last argument when it is done."""
        return self._do("/execute/async", {"script": script, "args": args})

    def devtools(self, command, **parameters):
        """One command of https://chromedevtools.github.io/devtools-protocol/."""
        return self._do("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def press(self, key):
        self._do("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def set_width(self, width):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT,
                      deviceScaleFactor=1, mobile=False)

    def set_scheme(self, scheme):
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def complaints(self):
        """What the console has said since the last call: errors, refused by the policy or not."""
        return [entry["message"] for entry in self._do("/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def save(self, name):
        directory = os.environ.get("PEX_SCREENSHOTS")
        if not directory:
            return
        os.makedirs(directory, exist_ok=True)
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                clip={**size, "scale": 1})
        with open(f"{directory}/{name}.png", "wb") as file:
            file.write(base64.b64decode(picture["data"]))


# Each text that is seen, with the ratio of its colour's luminance to that of what it stands on
# (https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio); those that miss AA are returned.
LOW_CONTRAST = """
const parse = (colour) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
const luminance = (rgb) => {
  const [r, g, b] = rgb.map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    layers.push(parse(getComputedStyle(e).backgroundColor));
  }
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
};
const low = [];
let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
  if (!text || !element.checkVisibility() || element.closest("svg, script")) continue;
  ++texts;
  const style = getComputedStyle(element), below = ground(element);
  const both = [luminance(over(parse(style.color), below)), luminance(below)];
  const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  const size = parseFloat(style.fontSize);
  const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  if (ratio < needed) low.push(`${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
}
return [texts, low];
"""

FOCUSABLE = "return [...document.querySelectorAll('a[href], summary')].length"
FOCUSED = """
const all = [...document.querySelectorAll('a[href], summary')];
const style = getComputedStyle(document.activeElement);
return [all.indexOf(document.activeElement), style.outlineStyle !== 'none'];
"""

# What stands out of the page on the right, for whoever has to find out why.
TOO_WIDE = """
const page = document.scrollingElement;
if (page.scrollWidth <= innerWidth) return [];
return [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth)
    .map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`);
"""


def axe_core():
    """The text of axe-core; None where there is none."""
    candidates = [os.environ.get("PEX_AXE")]
    if shutil.which("npm"):
        root = subprocess.run(["npm", "root", "--global"], capture_output=True, text=True,
                              check=False).stdout.strip()
        candidates.append(f"{root}/axe-core/axe.min.js")
    return next((harness.read_text(path) for path in candidates if path and os.path.isfile(path)),
                None)


def unavailable_event():
    """One that the daemon knows and this machine cannot count, as on a machine without a PMU."""
    listed = subprocess.run([harness.daemon_binary, "list", "--output", "json"], check=True,
                            text=True, capture_output=True)
    missing = [event["event"] for event in json.loads(listed.stdout) if event["available"] is False]
    harness.require(missing, "this machine can count every event that there is")
    return "cycles" if "cycles" in missing else missing[0]


def group(name, events, scope):
    return f"  - {{name: {name}, events: [{', '.join(events)}], scope: {scope}}}"


class StatusPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("chromium", "chromedriver"):
            harness.require(shutil.which(program), f"{program} is not installed")
        harness.require_events(*SOFTWARE)
        cls.axe = axe_core()
        if not cls.axe:
            print("NOT CHECKED by axe-core, which is not installed: only by our own checks of "
                  "contrast, keyboard and width", file=sys.stderr, flush=True)

    def setUp(self):
        self.browser = self.enterContext(Browser())

    def start(self, config):
        return self.enterContext(harness.Daemon(config))

    def open(self, daemon):
        self.browser.open(f"http://{daemon.address}/")

    def status(self, daemon):
        code, text = daemon.get("/api/v1/status")
        self.assertEqual(code, 200)
        return json.loads(text)

    def text(self):
        return self.browser.run("return document.body.innerText")

    def check(self, name):
        """What must be true of the page whatever it shows: in both schemes, wide and narrow."""
        self.assertEqual(self.browser.run("return document.title"), "Perf Event Exporter")
        for scheme in ("light", "dark"):
            self.browser.set_scheme(scheme)
            for width in (WIDE, NARROW):
                self.browser.set_width(width)
                with self.subTest(scheme=scheme, width=width):
                    self.check_as_seen()
                self.browser.save(f"{name}-{scheme}-{width}")
        self.browser.set_scheme("")
        self.browser.set_width(WIDE)
        self.check_keyboard()
        self.assertEqual(self.browser.complaints(), [])

    def check_as_seen(self):
        self.assertEqual(self.browser.run(TOO_WIDE), [])
        texts, low = self.browser.run(LOW_CONTRAST)
        self.assertGreater(texts, 20)
        self.assertEqual(low, [])
        if self.axe:
            self.check_with_axe()

    def check_with_axe(self):
        self.browser.run(self.axe)
        violations = self.browser.run_async(
            "const done = arguments[0];"
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa',"
            " 'best-practice']}).then(r => done(r.violations.map(v => "
            "v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | '))))")
        self.assertEqual(violations, [])

    def check_keyboard(self):
        """Tab comes to every link, and it shows where it is."""
        self.browser.run("document.activeElement.blur(); getSelection().removeAllRanges()")
        wanted = self.browser.run(FOCUSABLE)
        self.assertGreaterEqual(wanted, 4)
        reached = set()
        for _ in range(wanted + 2):
            self.browser.press(TAB)
            index, is_visible = self.browser.run(FOCUSED)
            if index >= 0:
                self.assertTrue(is_visible, f"focus on link {index} cannot be seen")
                reached.add(index)
        self.assertEqual(reached, set(range(wanted)))

    def busy_daemon(self):
        """Two cgroups, one of them busy, an event that is missing, and a cgroup too many."""
        tree = self.enterContext(harness.CgroupTree("page"))
        busy, idle = tree.make("busy.service"), tree.make("idle.service")
        cpu = max(os.sched_getaffinity(0))
        self.enterContext(harness.busy_loop(tree, busy, cpu))
        daemon = self.start("\n".join([
            "collection: {interval: 200ms}", "groups:",
            group("software", SOFTWARE, "[cpu, cgroup]"),
            group("missing", [f'"{unavailable_event()}"'], "cpu"),
            f'cgroups: {{include: ["{tree.pattern}"], max: 2}}', ""]))
        tree.make("zz-one-too-many.service")
        harness.until("a rate of the busy cgroup and one left out", lambda: self.is_busy(daemon))
        return daemon, busy, idle

    def is_busy(self, daemon):
        status = self.status(daemon)
        rates = [each["cpu_seconds_per_second"] for each in status["activity"]["top_cgroups"]]
        return rates and rates[0] and status["cgroups"]["left_out"] == 1

    def test_shows_what_is_counted_what_is_not_and_who_is_busy(self):
        daemon, busy, idle = self.busy_daemon()
        self.open(daemon)
        text = self.text()
        for expected in ("What is counted", "task-clock", "What is not counted, and why", busy,
                         idle, "1 matches and is not counted", "cgroups.max", "succeeded"):
            self.assertIn(expected, text)
        names = self.browser.run(
            "return [...document.querySelectorAll('#busiest tbody th')].map(e => e.textContent)")
        self.assertEqual(names, [busy, idle])
        self.assertRegex(self.browser.run("return document.querySelector('#busiest svg[role=img]')"
                                          ".getAttribute('aria-label')"), r"^CPUs used .* at most ")
        self.check("normal")

    def test_says_so_where_nothing_can_be_counted(self):
        event = unavailable_event()
        daemon = self.start("\n".join(["groups:", group("core", [f'"{event}"'], "cpu"), ""]))
        self.open(daemon)
        text = self.text()
        for expected in ("Nothing is counted.", "What is not counted, and why", event,
                         "No cgroup is counted."):
            self.assertIn(expected, text)
        self.check("empty")

    def test_shows_hostile_names_as_they_are_and_runs_none_of_them(self):
        tree = self.enterContext(harness.CgroupTree("hostile"))
        for name in HOSTILE:
            tree.make(name)
        daemon = self.start("\n".join([
            "collection: {interval: 200ms}", "groups:", group("software", SOFTWARE, "cgroup"),
            f"cgroups: {{include: ['{tree.path}/**'], max: {len(HOSTILE) - 2}}}", ""]))
        harness.until("rates", lambda: self.status(daemon)["activity"]["top_cgroups"])
        self.open(daemon)
        self.browser.run("document.querySelector('details').open = true")
        names = self.browser.run("return [...document.querySelectorAll('#busiest tbody th, "
                                 "#left-out li')].map(e => e.textContent)")
        self.assertEqual(len(names), len(HOSTILE))
        for name, shown in HOSTILE.items():
            self.assertIn(f"{tree.path}/{shown or name}", names)
        self.assertEqual(self.browser.run(
            "return document.querySelectorAll('main script, main img, main b').length"), 0)
        self.check("hostile")

    def test_refreshes_itself_and_keeps_place_and_focus(self):
        daemon, _, _ = self.busy_daemon()
        self.open(daemon)
        self.browser.set_width(NARROW)
        self.browser.run("document.querySelector('details').open = true;"
                         "document.querySelector('main').id = 'old';"
                         "document.getElementById('left-out-summary').focus();"
                         "scrollTo(0, 300)")
        scroll = self.browser.run("return Math.round(scrollY)")
        harness.until("a newer page",
                      lambda: not self.browser.run("return document.getElementById('old')"))
        self.assertEqual(self.browser.run("return document.activeElement.id"), "left-out-summary")
        self.assertTrue(self.browser.run("return document.querySelector('details').open"))
        self.assertEqual(self.browser.run("return Math.round(scrollY)"), scroll)
        self.assertIn("Refreshes itself", self.text())
        self.assertEqual(self.browser.complaints(), [])

    def test_says_since_when_the_exporter_is_not_reached(self):
        daemon = self.start(harness.config_of(events=SOFTWARE, scope="cpu"))
        self.open(daemon)
        daemon.terminate()
        harness.until("a line that it is not reached", lambda: re.search(
            r"^Not reached since \d", self.browser.run(
                "return document.getElementById('reach').textContent")))
        self.assertIn("What is counted", self.text())
        self.browser.save("not-reached")

    def test_works_without_scripts(self):
        daemon = self.start(harness.config_of(events=SOFTWARE, scope="cpu"))
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        self.open(daemon)
        text = self.text()
        self.assertIn("What is counted", text)
        self.assertIn("load it again", text)
        self.assertNotIn("Refreshes itself", text)
        self.browser.save("no-script")
        self.assertEqual(self.browser.complaints(), [])


if __name__ == "__main__":
    harness.main()
