"""What Prometheus makes of labels and queries, by promtool."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from manifests import Missing


def require_promtool():
    if not shutil.which("promtool"):
        raise Missing("there is no promtool; it is in Debian's prometheus")


def relabelled(scrape, targets):
    """Labels of each target after the relabelling of a scrape configuration; empty for one that it
    drops. `targets` are their labels before."""
    addresses = [f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:10173"
                 for number in range(len(targets))]
    with tempfile.TemporaryDirectory(prefix="pex_test_") as scratch:
        Path(f"{scratch}/targets.json").write_text(json.dumps(
            [{"targets": [address], "labels": labels}
             for address, labels in zip(addresses, targets)]), encoding="utf-8")
        scrape = {**scrape, "file_sd_configs": [{"files": [f"{scratch}/targets.json"]}]}
        Path(f"{scratch}/prometheus.yml").write_text(
            json.dumps({"scrape_configs": [scrape]}), encoding="utf-8")
        for timeout in "3s", "30s":  # it takes all of it; the first is too short on a busy machine
            done = run("check", "service-discovery", f"--timeout={timeout}",
                       f"{scratch}/prometheus.yml", scrape["job_name"])
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
            found, _ = json.JSONDecoder().raw_decode(done.stdout)
            by_address = {each["discoveredLabels"]["__address__"]: each["labels"]
                          for each in found or []}
            if len(by_address) == len(addresses):
                break
    return [by_address[address] for address in addresses]


def complaints_of(query, series, samples, at="10m"):
    """Of promtool, where the query over these series, a sample a minute, does not have these samples:
    (labels, value)."""
    case = {"evaluation_interval": "1m", "tests": [{
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": query, "eval_time": at, "exp_samples": [
            {"labels": labels, "value": value} for labels, value in samples]}]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(case, file)
        file.flush()
        done = run("test", "rules", file.name)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def run(*args):
    return subprocess.run(["promtool", *args], capture_output=True, text=True, check=False)
