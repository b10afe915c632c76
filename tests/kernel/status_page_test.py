"""A browser opens the status page: headless Chromium, told what to do by its own driver (WebDriver
over HTTP, https://www.w3.org/TR/webdriver2/), of the packages chromium and chromium-driver.

With PEX_SCREENSHOTS=DIRECTORY each page is saved there as it was seen.
"""

import base64
import contextlib
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import harness
import web

SOFTWARE = ["task-clock", "context-switches", "minor-faults"]
TAB = "\ue004"  # of WebDriver's table of keys
WIDE, MEDIUM, NARROW = 1280, 760, 390  # CSS pixels
HEIGHT = 900
FILES = {"/": "text/html; charset=utf-8", "/page.css": "text/css; charset=utf-8",
         "/page.js": "text/javascript; charset=utf-8"}
STATUS = "/api/v1/status"

# As the exporter writes them, which daemon_test (StatusTest) sees to: one of a start before the
# first poll, and one that has something of everything.
STATUSES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/daemon/statuses")

# As far as the name of a cgroup may hold it: all but '/', NUL and line breaks.
# With what is shown of a name that cannot be shown as it is.
HOSTILE = {
    "<script>alert(1)<script>": None,
    "<img src=x onerror=alert(2)>": None,
    "\"' onmouseover=\"alert(3)": None,
    "&lt;b&gt;&amp;": None,
    "a tab\tand\x1ba bell\x07": "a tab\u2409and\u241ba bell\u2407",
    "gnp.\u202etxt.exe": "gnp.\\u202etxt.exe",
    os.fsdecode(b"broken \xff\xfe utf-8"): "broken \ufffdff\ufffdfe utf-8",
    "a" * 200: None,
}


class DriverError(AssertionError):
    """What the driver answered instead of doing it."""


class Front(web.Server):
    """A reverse proxy that serves `daemon` below a path of its own, and remembers what was asked of
    it beside that. `instead` is answered in place of the daemon: a status and a text, by path."""

    PREFIX = "/node-17/exporter"

    def __init__(self, daemon):
        super().__init__(self._pass_on)
        self.daemon = daemon
        self.instead = {}
        self.astray = []
        self.url = f"http://{self.address}{self.PREFIX}/"

    def _pass_on(self, path, _):
        if not path.startswith(self.PREFIX):
            self.astray.append(path)
            return 404, {}, b""
        path = path.removeprefix(self.PREFIX)
        if path in self.instead:
            code, text = self.instead[path]
            return code, {"Content-Type": "application/json"}, text.encode()
        answer = web.ask_once(self.daemon.address, path)
        return answer.status, answer.headers, answer.body


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
                "timeouts": dict.fromkeys(("script", "pageLoad"), int(1000 * harness.PATIENCE)),
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
            with urllib.request.urlopen(request, timeout=2 * harness.PATIENCE) as answer:
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
const parsed = new Map();
const parse = (colour) => {
  if (!parsed.has(colour)) parsed.set(colour, drawn(colour));
  return parsed.get(colour);
};
const drawn = (colour) => {
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

# Parts of tables that do not state their role, also where a style displays them as something else.
WITHOUT_ROLE = """
const roles = {TABLE: 'table', THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TD: 'cell'};
const scopes = {col: 'columnheader', row: 'rowheader'};
return [...document.querySelectorAll('table, table *')]
    .filter(e => roles[e.tagName] || e.tagName === 'TH')
    .filter(e => e.getAttribute('role') !== (roles[e.tagName] ?? scopes[e.getAttribute('scope')]))
    .map(e => e.outerHTML.slice(0, 80));
"""

EMPTY_ATTRIBUTES = """
return [...document.querySelectorAll('body, body *')].flatMap(e => [...e.attributes])
    .filter(a => a.value.trim() === '' && a.name !== 'open')
    .map(a => `${a.ownerElement.outerHTML.slice(0, 80)}: ${a.name}`);
"""

LINKS_TO_NOTHING = """
return [...document.querySelectorAll('a[href^="#"]')].map(e => e.getAttribute('href'))
    .filter(href => !document.getElementById(href.slice(1)));
"""

# Of the first row of a table, and of all lists of facts: names and what is shown of them.
CELLS = """
return Object.fromEntries([...document.querySelectorAll(`#${arguments[0]} tbody tr:first-child td`)]
    .filter(e => e.dataset.label).map(e => [e.dataset.label, e.innerText]));
"""
# The titles of the rows of a table.
NAMES = """
return [...document.querySelectorAll(`#${arguments[0]} tbody th`)].map(e => e.textContent);
"""
# Of each chart: its ticks, and where its line ends if its last point is known.
AXES = """
return [...document.querySelectorAll('svg.spark')].map(e => [
    e.querySelector('.ticks').getAttribute('d'), e.querySelector('.now')?.getAttribute('cx')]);
"""
FACTS = """
return Object.fromEntries([...document.querySelectorAll('main dt')]
    .map(e => [e.innerText, e.nextElementSibling.innerText]));
"""

# What stands out of the page on the right, for whoever has to find out why.
TOO_WIDE = """
const page = document.scrollingElement;
if (page.scrollWidth <= innerWidth) return [];
return [`${page.scrollWidth} pixels`, ...[...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth)
    .map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`)];
"""


def unavailable_event():
    """One that the daemon knows and this machine cannot count, as on a machine without a PMU."""
    listed = harness.run("list", "--output", "json")
    missing = [event["event"] for event in json.loads(listed.stdout) if event["available"] is False]
    harness.require(missing, "this machine can count every event that there is")
    return "cycles" if "cycles" in missing else missing[0]


def group(name, events, scope):
    return f"  - {{name: {name}, events: [{', '.join(events)}], scope: {scope}}}"


def renamed(event, name, unit, scale):
    """An event as the operator may publish it."""
    return f"{{event: {event}, name: {name}, unit: {unit}, scale: {scale}}}"


def status_of(name):
    return json.loads(harness.read_text(f"{STATUSES}/{name}.json"))


def with_texts(value, text, key=""):
    """The same status with `text` for each text in it, but for those the exporter alone chooses."""
    if isinstance(value, dict):
        return {key: with_texts(each, text, key) for key, each in value.items()}
    if isinstance(value, list):
        return [with_texts(each, text, key) for each in value]
    chosen_by_us = key in ("scope", "aggregate", "ranked_by", "unit")
    return text if isinstance(value, str) and not chosen_by_us else value


def path_of(svg, style):
    return re.search(f'class="{style}" d="([^"]*)"', svg)[1]


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("chromium", "chromedriver"):
            harness.require(shutil.which(program), f"{program} is not installed")
        harness.require_events(*SOFTWARE)
        cls.browser = cls.enterClassContext(Browser())

    def setUp(self):
        self.browser.open("about:blank")  # the page of the test before asks no more
        self.browser.complaints()
        self.browser.set_width(WIDE)

    def start(self, config):
        return self.enterContext(harness.Daemon(config))

    def open(self, daemon):
        self.browser.open(f"http://{daemon.address}/")
        self.await_status()

    def await_status(self):
        harness.until("a page that shows the status",
                      lambda: self.browser.run("return !!document.querySelector('main .notices')"))

    def await_report(self, pattern):
        """`pattern` in what is read out to whoever cannot see it."""
        harness.until(f"a report like {pattern}", lambda: re.search(pattern, self.browser.run(
            "return document.querySelector('[role=status]').innerText")))

    def text(self):
        return self.browser.run("return document.body.innerText")

    def check(self, name):
        """What must be true of the page whatever it shows: in both schemes, at each width."""
        here = self.browser.run("return location.href").removeprefix("http://").rstrip("/")
        self.assertEqual(self.browser.run("return document.title"),
                         f"{here} \u2013 Perf Event Exporter")
        self.assertEqual(self.browser.run(WITHOUT_ROLE), [])
        self.assertEqual(self.browser.run(EMPTY_ATTRIBUTES), [])
        self.assertEqual(self.browser.run(LINKS_TO_NOTHING), [])
        for scheme in ("light", "dark"):
            self.browser.set_scheme(scheme)
            for width in (WIDE, MEDIUM, NARROW):
                self.browser.set_width(width)
                with self.subTest(scheme=scheme, width=width):
                    self.check_as_seen()
                self.browser.save(f"{name}-{scheme}-{width}")
        self.browser.set_scheme("")
        self.browser.set_width(WIDE)
        self.check_keyboard()
        self.assertEqual(self.browser.complaints(), [])

    def check_as_seen(self, texts=20):
        self.assertEqual(self.browser.run(TOO_WIDE), [])
        seen, low = self.browser.run(LOW_CONTRAST)
        self.assertGreater(seen, texts)
        self.assertEqual(low, [])

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


class StatusPageTest(BrowserTest):
    """What a real exporter has to say."""

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
        status = daemon.status()
        rates = [each["cpu_seconds_per_second"] for each in status["activity"]["top_cgroups"]]
        return rates and rates[0] and status["cgroups"]["left_out"] == 1

    def test_shows_what_is_counted_what_is_not_and_who_is_busy(self):
        daemon, busy, idle = self.busy_daemon()
        harness.until("a minute that has begun", lambda: daemon.status()
                      ["activity"]["idle_cgroups"] == 1)
        self.open(daemon)
        text = self.text()
        for expected in ("What is counted", "task-clock", "What is not counted, and why", busy,
                         "1 cgroup matches and is not counted", "cgroups.max", "succeeded"):
            self.assertIn(expected, text)
        self.assertEqual(self.browser.run(NAMES, "busiest"), [busy, "In no counted cgroup"])
        self.assertIn("Not shown: 1 idle cgroup.", text)
        self.assertNotIn(idle, text)
        self.assertRegex(self.browser.run("return document.querySelector('#busiest svg[role=img]')"
                                          ".getAttribute('aria-label')"), r"^CPUs used .* at most ")
        self.check("normal")

    def test_reports_it_where_nothing_can_be_counted(self):
        event = unavailable_event()
        daemon = self.start("\n".join(["groups:", group("core", [f'"{event}"'], "cpu"), ""]))
        self.open(daemon)
        text = self.text()
        for expected in ("Nothing is counted.", "What is not counted, and why", event,
                         "No cgroup is counted."):
            self.assertIn(expected, text)
        cells = self.browser.run(CELLS, "not-counted")
        why, what_to_do = cells["Why"], cells["What to do"]
        self.assertRegex(why, r"\(E[A-Z]+\)$")
        self.assertNotRegex(why, "remove|give|write|set ")
        self.assertNotIn(why.partition(" (")[0], what_to_do)
        self.check("empty")

    def test_shows_events_labels_and_sums_as_the_configuration_names_them(self):
        tree = self.enterContext(harness.CgroupTree("names"))
        busy, _ = tree.make("busy.service"), tree.make("idle.service")
        self.enterContext(harness.busy_loop(tree, busy, max(os.sched_getaffinity(0))))
        rule = "{match: 're:.*/(?P<app>[a-z]+)[.]service', set: {app: $1, tier: \"<b>$0\"}}"
        sums = "{name: app, by: [app], zero_for: 0s}, {name: all, by: [], zero_for: 0s}"
        daemon = self.start("\n".join([
            "collection: {interval: 200ms}", "groups:", group("own", [
                renamed("context-switches", "copied", "bytes", 4096),
                renamed("minor-faults", "burnt", "joules", 0.5), "cpu-clock"], "[cpu, cgroup]"),
            f'cgroups: {{include: ["{tree.pattern}"], labels: [{rule}], sums: [{sums}]}}', ""]))
        harness.until("the rates of cgroups and sums", lambda: daemon.status()["activity"]["top_cgroups"]
                      and all(each["top_sums"] for each in daemon.status()["sums"]))
        self.open(daemon)

        bytes_a_second = r"^[\d.]+\xa0[kMG]?B/s$"
        self.assertEqual(self.browser.run(NAMES, "busiest"), [f'{busy} app="busy" tier="<b>{busy}"'])
        cells = self.browser.run(CELLS, "busiest")
        self.assertRegex(cells["copied"], bytes_a_second)
        self.assertRegex(cells["burnt"], r"^(0|under\xa0)?[\d.]*\xa0[kM]?W$")
        self.assertRegex(cells["cpu_clock"], r"^[\d.]+\xa0s/s$")
        self.assertEqual(self.browser.run(NAMES, "all-cpus"), ["copied", "burnt"])
        self.assertRegex(self.browser.run(FACTS)["copied of all CPUs"], bytes_a_second)
        self.assertIn("By the rate of copied, ", self.text())
        self.assertIn("perf_cpu_copied_bytes_total", self.text())
        self.assertEqual(self.browser.run(NAMES, "sums"), ["app", "all"])
        self.assertEqual(self.browser.run(CELLS, "sums")["Sums"], "2")
        self.assertEqual(self.browser.run(NAMES, "sum-0"), ["busy"])
        self.assertRegex(self.browser.run(CELLS, "sum-0")["copied"], bytes_a_second)
        self.assertEqual(self.browser.run(NAMES, "sum-1"), ["all cgroups"])
        self.check("names")

    def test_shows_why_no_cgroup_is_busy(self):
        tree = self.enterContext(harness.CgroupTree("idle"))
        tree.make("idle.service")
        daemon = self.start("\n".join(["groups:", group("software", SOFTWARE, "cgroup"),
                                       f'cgroups: {{include: ["{tree.pattern}"]}}', ""]))
        harness.until("rates", lambda: daemon.status()["activity"]["idle_cgroups"])
        self.open(daemon)
        self.assertIn("All cgroups with known rates were idle over the last", self.text())
        self.assertFalse(self.browser.run("return document.querySelector('#busiest table')"))

    def test_shows_hostile_names_as_they_are_and_runs_none_of_them(self):
        tree = self.enterContext(harness.CgroupTree("hostile"))
        cgroups = [tree.make(name) for name in HOSTILE]
        daemon = self.start("\n".join([
            "collection: {interval: 200ms}", "groups:", group("software", SOFTWARE, "cgroup"),
            f"cgroups: {{include: ['{tree.path}/**'], max: {len(HOSTILE) - 2}}}", ""]))
        harness.until("rates of all that are counted",
                      lambda: self.busy_cgroups(daemon, tree, cgroups) == len(HOSTILE) - 2)
        self.open(daemon)
        self.browser.run("document.querySelector('details').open = true")
        names = self.browser.run("return [...document.querySelectorAll('#busiest tbody th, "
                                 "#left-out li')].map(e => e.textContent)")
        self.assertEqual(len(names) - 1, len(HOSTILE))  # and what is in no counted cgroup
        for name, shown in HOSTILE.items():
            self.assertIn(f"{tree.path}/{shown or name}", names)
        self.assertEqual(self.browser.run(
            "return document.querySelectorAll('main script, main img, main b').length"), 0)
        self.check("hostile")

    def busy_cgroups(self, daemon, tree, cgroups):
        """How many there are, after a process in each of `cgroups`."""
        for cgroup in cgroups:
            subprocess.run(["true"], preexec_fn=lambda path=cgroup: tree.join(path), check=True)
        return daemon.status()["activity"]["busy_cgroups"]

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
        self.assertIn("Refreshed every", self.text())
        self.assertEqual(self.browser.complaints(), [])

    def test_shows_since_when_the_exporter_is_not_reached(self):
        daemon = self.start(harness.config_of(events=SOFTWARE, scope="cpu"))
        self.open(daemon)
        daemon.terminate()
        self.await_report(r"^Not reached since \d.*: no connection\.$")
        self.assertIn("What is counted", self.text())
        self.browser.save("not-reached")

    def set_scripts(self, may_run):
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=not may_run)

    def test_without_scripts_reports_it_and_where_the_status_is(self):
        daemon = self.start(harness.config_of(events=SOFTWARE, scope="cpu"))
        self.set_scripts(False)
        self.addCleanup(self.set_scripts, True)
        self.browser.open(f"http://{daemon.address}/")
        harness.until("what to do without scripts", lambda: "needs JavaScript, which is off"
                      in self.text())
        self.assertNotIn("Refreshed every", self.text())
        self.assertEqual(self.browser.run("return document.querySelector('main a').href"),
                         f"http://{daemon.address}{STATUS}")
        self.check_as_seen(texts=5)
        self.browser.save("no-script")
        self.assertEqual(self.browser.complaints(), [])


class PageTest(BrowserTest):
    """The page of a real exporter, which is given other statuses to draw."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        daemon = cls.enterClassContext(
            harness.Daemon(harness.config_of(events=SOFTWARE, scope="cpu")))
        cls.front = cls.enterClassContext(Front(daemon))

    def setUp(self):
        super().setUp()
        self.front.instead.clear()

    def draw(self, status):
        self.front.instead[STATUS] = (200, json.dumps(status))
        self.browser.open(self.front.url)
        self.await_status()

    def test_shows_plainly_that_there_is_no_status_and_shows_it_once_there_is(self):
        self.front.instead[STATUS] = (503, "not now")
        self.browser.open(self.front.url)
        self.await_report(r"^The status cannot be fetched: it answered 503 .*\. Retried every")
        self.check_as_seen(texts=5)
        self.browser.save("no-status")
        self.browser.complaints()  # that it was answered 503
        self.front.instead[STATUS] = (200, "<html>")
        self.await_report(r"its answer is not JSON")
        self.front.instead[STATUS] = (200, '{"version": "1.2.3"}')
        self.await_report(r"^The status cannot be drawn: ")
        del self.front.instead[STATUS]
        self.await_report("^$")
        self.assertIn("What is counted", self.text())
        self.assertEqual(self.browser.complaints(), [])

    def test_is_loaded_again_with_another_version_of_the_exporter(self):
        status = status_of("full")
        self.draw(status)
        self.browser.run("window.isOld = true")
        self.front.instead[STATUS] = (200, json.dumps({**status, "version": "9.9.9"}))
        harness.until("another page", lambda: not self.browser.run("return window.isOld"))
        self.await_status()
        self.assertIn("9.9.9 on ", self.text())

    def test_shows_all_that_there_is_to_say(self):
        self.draw(status_of("full"))
        text = self.text()
        for expected in (
                "Counting 2 events on 3 CPUs, 2 events in each of 7 cgroups.",
                "Not reloaded: the last configuration has errors",
                "Not reloaded: the last web configuration was refused",
                "Late: CPU 1", "Less protected:", "Not counted: 2 events", "Left out: 2 cgroups",
                "Not followed: 3 cgroup directories", "Warned: 1 warning",
                "Off the PMU: 1 pinned group",
                "shop / web-1", "0-3; left out: 3",
                "this machine has no such hardware counter (ENOENT)",
                "remove it", "group 'core' does not fit on the PMU: it is split",
                "2 cgroups match and are not counted because of cgroups.max.",
                "c.yaml:2:3: groups[0].events: there are none",
                "web.yaml: it would open the server",
                "rate_limit from 1 request in 1s, burst 5 to no limit", "on cpu_core"):
            self.assertIn(expected, text)
        facts = self.browser.run(FACTS)
        for name, value in {"users": "2 users", "Uptime": "3\u00a0h", "Series": "512",
                            "IPC of all CPUs": "0.500", "Interval": "1\u00a0s",
                            "PMU cpu_core": "on CPU 0-1",
                            "Multiplexed counts are scaled by": "msr/aperf/",
                            "Directories not followed": "3", "Ended before they were counted": "7",
                            "Targets rotated by the exporter": "3"}.items():
            self.assertEqual(facts[name], value, name)
        on_pmu = self.browser.run(CELLS, "groups")
        self.assertEqual(on_pmu["Targets"], "6 of 8")
        for expected in ("50.0\u00a0%", "63.2\u00a0% since the configuration was loaded",
                         "150\u00a0ms filled from history, 20.0\u00a0ms not measured"):
            self.assertIn(expected, on_pmu["On the PMU"])
        busy = self.browser.run(CELLS, "busiest")
        self.assertEqual([busy[key] for key in ("CPUs", "Peak", "IPC", "cycles", "written")],
                         ["0.750", "1.00", "1.35", "2.40\u00a0G/s", "1.50\u00a0MB/s"])
        self.assertNotIn("instructions", busy)  # of which there is the ratio
        self.assertEqual(self.browser.run(NAMES, "busiest")[-1], "In no counted cgroup")
        self.assertIn("1.02 CPUs, 25.5\u00a0% of the CPU time of this machine.", text)
        self.assertEqual(self.browser.run(CELLS, "uncounted"),
                         {"CPUs": "0.990", "Of all CPU time": "24.8\u00a0%"})
        self.assertIn("add '/jobs/*' to it to count it", text)
        self.assertEqual(self.browser.run(NAMES, "all-cpus"), [
            "cycles", "instructions", "power/energy-pkg/", "power/energy-ram/"])
        self.assertEqual(self.browser.run(CELLS, "all-cpus")["Rate"], "2.20\u00a0G/s")
        not_counted = self.browser.run(CELLS, "not-counted")
        self.assertEqual(not_counted["Why"], "this machine has no such hardware counter (ENOENT)")
        self.assertEqual(not_counted["What to do"], "remove it")
        limit = self.browser.run(CELLS, "limits")
        self.assertEqual([limit[key] for key in ("Now", "At most", "Used")],
                         ["35", "1\u202f024", "3.4\u00a0%"])
        self.check("full")

    def test_shows_the_sums_of_cgroups_and_the_busiest_of_each(self):
        self.draw(status_of("full"))
        self.assertEqual(self.browser.run(NAMES, "sums"), ["workload", "team"])
        cells = self.browser.run(CELLS, "sums")
        self.assertEqual([cells[key] for key in ("By", "Sums", "At most", "New", "Idle", "Cgroups",
                                                 "Left out")],
                         ["namespace, container", "8", "8", "1", "2", "21", "4"])
        self.assertIn("Left out of sums: 4 cgroups", self.text())
        self.assertEqual(self.browser.run(NAMES, "sum-0"), ["shop / web", "shop / database"])
        self.assertEqual(self.browser.run(
            "return document.querySelector('#sum-0 thead th').innerText"), "namespace / container")
        cells = self.browser.run(CELLS, "sum-0")
        self.assertEqual([cells[key] for key in ("Cgroups", "CPUs", "Peak", "IPC", "cycles",
                                                 "written")],
                         ["3", "1.25", "1.50", "0.500", "4.80\u00a0G/s", "3.00\u00a0MB/s"])
        self.assertNotIn("instructions", cells)
        caption = self.browser.run("return document.querySelector('#sum-0 caption').innerText")
        self.assertIn("2 of 5 are shown. Not shown: 2 idle sums.", caption)
        self.assertFalse(self.browser.run("return document.getElementById('sum-1')"),
                         "no rate of it is known")

    def test_shows_no_sums_where_none_are_configured(self):
        status = status_of("full")
        status["sums"] = []
        self.draw(status)
        self.assertFalse(self.browser.run("return document.getElementById('sums')"))
        self.assertNotIn("Left out of sums", self.text())

    def test_cgroups_without_open_counters_are_among_those_that_the_limit_concerns(self):
        status = status_of("full")
        status["cgroups"].update(counted=0, idle=400, waiting=12)
        status["limits"]["cgroups_limit"] = 512
        self.draw(status)
        self.assertEqual(self.browser.run(
            "return [...document.querySelectorAll('#limits td[data-label=Now]')]"
            ".at(-1).innerText"), "412")
        self.assertIn("in each of 400 cgroups", self.text())
        status["cgroups"].update(idle=0)
        self.draw(status)
        self.assertIn("in each cgroup; 12 wait to be opened", self.text())

    def test_before_the_first_poll_shows_that_there_are_no_numbers_yet(self):
        self.draw(status_of("starting"))
        text = self.text()
        for expected in ("The first poll has not ended yet.", "No counts have been read yet."):
            self.assertIn(expected, text)
        facts = self.browser.run(FACTS)
        self.assertEqual(facts["Last poll"], "none yet")
        for name in ("CPUs online", "Cgroups counted", "Series", "Counted", "Waiting to be opened",
                     "Ended, still served", "Left out", "Unreadable", "Directories not followed"):
            self.assertEqual(facts[name], "unknown", name)
        self.assertEqual(self.browser.run(
            "return [...document.querySelectorAll('#limits td[data-label=Now]')]"
            ".map(e => e.innerText)"), ["unknown"] * 4)
        self.assertEqual(self.browser.run(CELLS, "groups")["Targets"], "unknown")
        sums = self.browser.run(CELLS, "sums")
        self.assertEqual([sums[key] for key in ("Sums", "At most", "Cgroups", "Left out")],
                         ["unknown", "8", "unknown", "unknown"])
        self.assertFalse(self.browser.run("return document.getElementById('web-configuration')"))
        self.check("starting")

    def test_names_events_as_their_metrics_do(self):
        self.draw(status_of("full"))
        def of(metric, unit="events", event="x"):
            return {"event": event, "metric": metric, "unit": unit}
        energy = [of("perf_energy_joules_total", "joules", f"power/energy-{part}/")
                  for part in ("pkg", "ram")]
        self.assertEqual(self.call(["nameOf", of("perf_cpu_hog_cycles_total"), [], "cpu_hog"]),
                         ["cycles"])
        for expected, rate, rates in [
                ("cache_misses", of("perf_cpu_cache_misses_total"), []),
                ("written", of("perf_cgroup_written_bytes_total", "bytes"), []),
                ("my_events", of("perf_cpu_my_events_total"), []),
                ("energy", energy[0], energy[:1]), ("power/energy-ram/", energy[1], energy)]:
            self.assertEqual(self.call(["nameOf", rate, rates]), [expected])

    def test_shows_unknown_where_a_value_is_and_that_there_is_none_where_there_is_none(self):
        status = status_of("full")
        busy = status["activity"]["top_cgroups"]
        busy.append(copy.deepcopy(busy[0]))
        busy[0]["instructions_per_cycle"] = None
        busy[0]["rates"][1]["per_second"] = 0
        status["groups"][0].update(targets_expected=0, targets_counted=0, coverage_ratio=None)
        status["limits"]["open_files"] = None
        self.draw(status)
        cells = self.browser.run(CELLS, "busiest")
        self.assertEqual([cells["IPC"], cells["cycles"]], ["unknown", "0/s"])
        self.assertEqual(self.browser.run(CELLS, "groups")["Targets"], "none")
        cells = self.browser.run(CELLS, "limits")
        self.assertEqual([cells["Now"], cells["Used"]], ["unknown", "unknown"])
        for each in busy:
            each["instructions_per_cycle"] = None
            for rate in each["rates"][1:]:
                rate["per_second"] = None
        self.draw(status)
        self.assertEqual(set(self.browser.run(CELLS, "busiest")), {"CPUs", "Peak"})

    def test_shows_of_a_group_that_never_loses_the_pmu_that_it_does_not(self):
        status = status_of("full")
        group = status["groups"][0]
        group.update(running_ratio=1, recent_running_ratio=1)
        self.draw(status)
        self.assertIn("always on the PMU", self.browser.run(CELLS, "groups")["On the PMU"])
        group["shares_pmu"] = False
        self.draw(status)
        self.assertEqual(self.browser.run(CELLS, "groups")["On the PMU"], "always counting")

    def test_reports_it_where_nothing_is_counted(self):
        status = status_of("full")
        status["groups"] = status["activity"]["top_cgroups"] = []
        status["cgroups"].update(counted=0, idle=0, lingering=0)
        self.draw(status)
        for expected in ("Nothing is counted.", "No cgroup is counted.", "(ENOENT)", "remove it"):
            self.assertIn(expected, self.text())

    def test_shows_hardware_events_where_nothing_else_is_counted(self):
        status = status_of("full")
        activity = status["activity"]
        activity["ranked_by"] = "cycles_per_second"
        for cgroup in activity["top_cgroups"]:
            del cgroup["rates"][0]
            cgroup["cpu_seconds_per_second"] = None
        self.draw(status)
        cells = self.browser.run(CELLS, "busiest")
        self.assertEqual(set(cells), {"cycles", "Peak", "IPC", "written"})
        self.assertIn("By the rate of cycles, over the last", self.text())
        self.check("hardware")

    def test_all_charts_have_one_time_axis(self):
        status = status_of("full")
        self.draw(status)
        axes = self.browser.run(AXES)
        self.assertGreater(len(axes), 5)
        self.assertEqual(len({ticks for ticks, _ in axes}), 1)
        self.assertEqual(axes[0][0].count("M"), 6)  # of five minutes
        self.assertEqual({end for _, end in axes if end}, {"118.0"})  # now
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('.axis')]"
                                          ".map(e => e.innerText.split('\\n').join(' '))"),
                         ["5\u00a0min ago now"] * 3)  # of cgroups, of a sum, of all CPUs
        status["activity"]["span_seconds"] = 3600  # polls are a minute apart
        self.draw(status)
        axes = self.browser.run(AXES)
        self.assertEqual(len({ticks for ticks, _ in axes}), 1)
        self.assertEqual(axes[0][0].count("M"), 5)  # of 15 minutes
        self.assertIn("Charts show the last 1\u00a0h; one tick is 15\u00a0min.", self.text())

    def test_works_below_a_path_of_a_proxy_with_every_link(self):
        self.draw(status_of("full"))
        self.assertEqual(self.browser.run(
            "return getComputedStyle(document.querySelector('.summary')).display"), "grid")
        links = self.browser.run("return [...document.querySelectorAll('a')].map(e => e.href)")
        self.assertGreater(len(links), 8)
        for link in links:
            page, _, target = link.partition("#")
            self.assertTrue(page.startswith(self.front.url), link)
            with urllib.request.urlopen(page) as answer:
                self.assertEqual(answer.status, 200, link)
            if target:
                self.assertTrue(self.browser.run("return !!document.getElementById(arguments[0])",
                                                 target), link)
        self.assertEqual(self.front.astray, [])

    def test_takes_no_text_for_markup_wherever_it_is(self):
        status = status_of("full")
        hostile = "/a<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\n"
        before = json.dumps(status)
        self.draw(with_texts(status, hostile))
        self.assertGreater(self.browser.run(
            "return document.body.innerText.split('<script>alert(1)').length"), 20)
        self.assertEqual(self.browser.run("return document.querySelectorAll("
                                          "'main script, img, main [src], [onerror]').length"), 0)
        self.assertEqual(self.browser.run("return document.querySelectorAll('script').length"), 1)
        self.assertTrue(all(href.startswith("http://127.0.0.1:") for href in self.browser.run(
            "return [...document.querySelectorAll('a')].map(e => e.href)")))
        self.assertNotIn("\u202e", self.text())
        self.assertEqual(json.dumps(status), before)
        self.check("hostile-everywhere")

    def test_its_policy_refuses_markup_from_strings_and_scripts_in_the_page(self):
        self.draw(status_of("full"))
        for sink in ("document.body.innerHTML = '<b>x</b>'", "document.write('x')",
                     "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')"):
            self.assertEqual(self.browser.run(f"try {{ {sink}; return '' }} "
                                              "catch (error) { return error.name }"), "TypeError")
        self.browser.run("const script = document.createElement('div');"
                         "script.setAttribute('style', 'color: red'); document.body.append(script);"
                         "const inline = document.createElement('script');"
                         "try { inline.text = 'window.hasRun = true'; document.body.append(inline) }"
                         "catch { }")
        self.assertFalse(self.browser.run("return window.hasRun"))
        self.assertEqual(self.browser.run(
            "return getComputedStyle(document.body.lastElementChild).color === 'rgb(255, 0, 0)'"),
            False)
        self.assertTrue(self.browser.complaints())

    def test_its_files_have_its_headers(self):
        with urllib.request.urlopen(self.front.url) as page:
            policy = page.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'",
                     "require-trusted-types-for 'script'", "frame-ancestors 'none'"):
            self.assertIn(part, policy.split("; "))
        self.assertNotIn("unsafe", policy)
        for path, content_type in FILES.items():
            with urllib.request.urlopen(self.front.url.rstrip("/") + path) as answer:
                self.assertEqual(answer.headers["Content-Type"], content_type)
                self.assertEqual(answer.headers["Content-Security-Policy"], policy)
                self.assertEqual(answer.headers["Cache-Control"], "no-store")
                self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def call(self, *calls):
        """What functions of the page return, each a name and arguments; drawings as their HTML."""
        return self.browser.run_async("""
            const [calls, done] = arguments;
            import(new URL('page.js', location)).then(page => done(calls.map(([name, ...args]) => {
              const result = page[name](...args);
              return result.outerHTML ?? result;
            })));""", calls)

    def test_numbers_are_readable(self):
        self.draw(status_of("full"))
        expected = {
            ("compact", 0): "0", ("compact", 0.0001): "under 0.001", ("compact", 0.0042): "0.004",
            ("compact", 1.3456): "1.35", ("compact", 24.06): "24.1", ("compact", 999.4): "999",
            ("compact", 999.9): "1.00 k", ("compact", 3.214e9): "3.21 G", ("compact", -5): "\u22125.00",
            ("compact", 1e30): "1000000000000 E",
            ("rate", 2.4e9, "events"): "2.40 G/s", ("rate", 12.3, "events"): "12.3/s",
            ("rate", 0, "events"): "0/s", ("rate", 1.5e6, "bytes"): "1.50 MB/s",
            ("rate", 48, "joules"): "48.0 W", ("rate", 0.75, "seconds"): "0.750 s/s",
            ("rate", 5, "of a later version"): "5.00/s",
            ("percent", 1): "100 %", ("percent", 0.99999): "99.9 %", ("percent", 0.632): "63.2 %",
            ("percent", 0.00001): "under 0.1 %", ("percent", 0): "0 %",
            ("duration", 640e-6): "640 \u00b5s", ("duration", 3214e-6): "3.21 ms",
            ("duration", 1.25): "1.25 s", ("duration", 42): "42 s", ("duration", 245): "4 min 5 s",
            ("duration", 3 * 3600): "3 h", ("duration", 9 * 86400 + 6 * 3600 + 59): "9 d 6 h",
            ("setting", 5): "5 s", ("setting", 0.2): "200 ms", ("setting", 1.5): "1.5 s",
            ("age", 0.4): "under 1 s", ("age", 1.999): "1 s",
            ("count", 1234567): "1\u202f234\u202f567", ("count", 123): "123",
            ("utc", 1790000000): "2026-09-21 14:13:20 UTC",
            ("shown", "a\n\t\x1b\x7f\u009b\u202e"): "a\u240a\u2409\u241b\u2421\\u009b\\u202e"}
        for call, result in zip(expected, self.call(*map(list, expected))):
            with self.subTest(call):
                self.assertEqual(result.replace("\u00a0", " "), expected[call])

    def test_a_sparkline_stays_in_its_box_has_gaps_and_is_read_out(self):
        def activity(*ages, span=15):
            return {"point_ages_seconds": ages, "span_seconds": span}

        self.draw(status_of("full"))
        wild, two, gap, words, unknown, none = self.call(
            ["sparkline", "CPUs", [0, 1e300, -5, 1e-300, 3], activity(99999, 300, 5, 0, -7)],
            ["sparkline", "CPUs", [2, 1], activity(5, 0)],
            ["sparkline", "CPUs", [1, None, 1], activity(10, 5, 0)],
            ["sparkline", "CPUs used", [0.5, 2, 1], activity(10, 5, 0)],
            ["sparkline", "CPUs used", [1, None], activity(5, 0, span=10)],
            ["sparkline", "CPUs used", [], activity(span=0)])
        for path in (path_of(wild, "line"), path_of(wild, "area")):
            numbers = [float(number) for number in re.findall(r"-?[0-9.]+", path)]
            self.assertTrue(numbers)
            for x, y in zip(numbers[::2], numbers[1::2]):
                self.assertTrue(0 <= x <= 120 and 0 <= y <= 24, path)
        self.assertEqual(path_of(two, "line"), "M116.1 2.0L116.1 2.0L118.0 12.0")
        self.assertRegex(path_of(gap, "line"), r"^M[^M]*M[^M]*$")
        self.assertNotIn("22.0", path_of(gap, "line"))
        self.assertIn('aria-label="CPUs used over the last 15\u00a0s: now 1.00, at most 2.00"',
                      words.replace("&nbsp;", "\u00a0"))
        self.assertIn("now unknown, at most 1.00", unknown)
        self.assertIn("CPUs used: unknown", none)
        full, empty = self.call(["bar", 7], ["bar", -1])
        self.assertIn('width="100.0"', full)
        self.assertIn('width="0.0"', empty)


if __name__ == "__main__":
    harness.main()
