"""The parsers of Prometheus' own client for Python, as a second opinion where they are installed.

Debian's package is python3-prometheus-client. It is pure Python, so another interpreter than
Debian's can import it as well, from where Debian puts it.
"""

import importlib
import importlib.util
import sys

DEBIAN = "/usr/lib/python3/dist-packages"


def _parser(module):
    if importlib.util.find_spec("prometheus_client") is None:
        sys.path.append(DEBIAN)
    try:
        return importlib.import_module(module).text_string_to_metric_families
    except ImportError:
        return None
    finally:
        if sys.path[-1] == DEBIAN:
            sys.path.pop()


_openmetrics = _parser("prometheus_client.openmetrics.parser")
_text = _parser("prometheus_client.parser")

installed = _openmetrics is not None and _text is not None
if not installed:
    print("NOT CHECKED BY THE REFERENCE PARSERS: install python3-prometheus-client; "
          "our own checks still count", flush=True)


def openmetrics(text):
    """Families of an exposition in OpenMetrics; raises ValueError."""
    return list(_openmetrics(text))


def text(exposition):
    """Families of an exposition in the text format; raises ValueError."""
    return list(_text(exposition))


def samples(families):
    """(name, sorted labels) -> value."""
    return {(sample.name, tuple(sorted(sample.labels.items()))): float(sample.value)
            for family in families for sample in family.samples}
