"""Makes the picture of the status page in the README: `run.sh --picture [OUT.png]`.

The emulated machine has no network, so its scenario (guest/page.sh) writes down what the exporter
answers at the end: its metrics and its status. A browser on this machine then draws that status
with the page of this tree. Metrics and status are kept in build/vm, as page-metrics and
page-status.
"""

import base64
import os
import shutil
import subprocess
import sys

from machine import Boot, PATIENCE  # also makes tests/kernel importable
import status_page_test  # its browser
import web

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../daemon/status/page")
FILES = {"/": ("index.html", "text/html"), "/page.css": ("page.css", "text/css"),
         "/page.js": ("page.js", "text/javascript")}
WIDTH = 1280  # CSS pixels
LAST_SECTION = "all-cpus"  # the picture ends below it


def read(path):
    with open(path, "rb") as file:
        return file.read()


def answer_with(status):
    def answer(path, _):
        if path in FILES:
            name, content_type = FILES[path]
            return 200, {"Content-Type": f"{content_type}; charset=utf-8"}, read(f"{PAGE}/{name}")
        return (200, {"Content-Type": "application/json"}, status) if path == "/api/v1/status" \
            else (404, {}, b"")
    return answer


def draw(status):
    """A picture of the page from its top to the end of LAST_SECTION."""
    with web.Server(answer_with(status)) as server, status_page_test.Browser() as browser:
        browser.set_width(WIDTH)
        browser.set_scheme("light")
        browser.open(f"http://{server.address}/")
        status_page_test.harness.until("the page", lambda: browser.run(
            "return !!document.querySelector('main .notices')"))
        end = browser.run(
            f"return document.getElementById('{LAST_SECTION}').getBoundingClientRect().bottom")
        picture = browser.devtools(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": WIDTH, "height": end + 12, "scale": 1})
    return base64.b64decode(picture["data"])


def main():
    Boot.directory, out = sys.argv[1:]
    boot = Boot("page", "6.12", patience=3 * PATIENCE)  # it works for five minutes
    record = boot.start()
    for name in ("metrics", "status"):
        with open(f"{boot.directory}/page-{name}", "w", encoding="utf-8") as file:
            file.write(record.texts["page", name])
    with open(out, "wb") as file:
        file.write(draw(record.texts["page", "status"].encode()))
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--skip-if-larger", "--output", out, out],
                       check=False)
    print(f"{out}: {os.path.getsize(out)} bytes, from {boot.release()}")


if __name__ == "__main__":
    main()
