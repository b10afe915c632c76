"""The dashboards against the types that Grafana publishes: `types_test.py BINARY_DIRECTORY`.

npm fetches them as package-lock.json says, below the binary directory, once. They cover what all
panels have in common, and each one's `options` and `fieldConfig.defaults.custom`; not what a query
may say.
"""

import json
import os
import shutil
import sys
import unittest

import mixin

here = os.path.dirname(os.path.abspath(__file__))
folder = f"{os.path.abspath(sys.argv[1])}/npm"
TSC = ["node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
       "--module", "esnext", "--moduleResolution", "bundler"]
RAW = "./node_modules/@grafana/schema/dist/esm/raw/composable"  # the package exports only the whole
PANELS = {  # type -> where its types are, and whether it has a FieldConfig of its own
    "heatmap": (f"{RAW}/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen", True),
    "timeseries": (f"{RAW}/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen", True),
    "stat": (f"{RAW}/stat/panelcfg/x/StatPanelCfg_types.gen", False),
    "status-history": (f"{RAW}/statushistory/panelcfg/x/StatusHistoryPanelCfg_types.gen", True),
    "table": (f"{RAW}/table/panelcfg/x/TablePanelCfg_types.gen", True),
}


# In JSON stand texts where the types have enumerations.
JSON_OF = """
type Json<T> = T extends string ? `${T}` : T extends (infer U)[] ? Json<U>[]
  : T extends object ? { [K in keyof T]: Json<T[K]> } : T;"""


def npm(*arguments):
    return mixin.run("npm", *arguments, "--no-audit", "--no-fund", "--fetch-retries=1",
                     "--fetch-retry-mintimeout=1000", cwd=folder)


def fetched():
    """Whether what the lock file says is there, from now or from before."""
    files = [f"{here}/package.json", f"{here}/package-lock.json"]
    lock = mixin.read_text(files[1])
    stamp = f"{folder}/fetched"
    if os.path.exists(stamp) and mixin.read_text(stamp) == lock:
        return True
    os.makedirs(folder, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)
    done = npm("ci", "--ignore-scripts")
    if done.returncode != 0:
        print(done.stdout)
        return False
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(lock)
    return True


def without_queries_of_annotations(dashboard):
    """They belong to the data source, whose types are not published."""
    of_prometheus = {"expr", "titleFormat", "textFormat", "step", "useValueForTime"}
    annotations = [{key: value for key, value in each.items() if key not in of_prometheus}
                   for each in dashboard["annotations"]["list"]]
    return {**dashboard, "annotations": {"list": annotations}}


def typed(dashboard):
    """A TypeScript program that is right when the dashboard is."""
    dashboard = without_queries_of_annotations(dashboard)
    yield 'import type { Dashboard } from "@grafana/schema";'
    yield JSON_OF
    yield f"export const dashboard: Json<Dashboard> = {json.dumps(dashboard, indent=1)};"
    for kind, (module, has_fields) in PANELS.items():
        name = kind.replace("-", "_")
        yield f'import type * as {name} from "{module}";'
        for panel in mixin.panels(dashboard):
            if panel["type"] != kind:
                continue
            yield (f"export const options_{panel['id']}: Json<Partial<{name}.Options>> = "
                   f"{json.dumps(panel['options'], indent=1)};")
            custom = panel["fieldConfig"]["defaults"].get("custom")
            if custom and has_fields:
                yield (f"export const custom_{panel['id']}: Json<Partial<{name}.FieldConfig>> = "
                       f"{json.dumps(custom, indent=1)};")


def with_a_text_for_a_number():
    dashboard = mixin.dashboards()["node.json"]
    mixin.panels(dashboard)[0]["gridPos"]["w"] = "4"
    return dashboard


def with_an_option_that_is_none():
    dashboard = mixin.dashboards()["node.json"]
    panel = next(each for each in mixin.panels(dashboard) if each["type"] == "timeseries")
    panel["options"]["legend"]["show"] = True
    return dashboard


def complaints(programs):
    """What the compiler says of each; it starts slowly, so once for all."""
    for name, dashboard in programs.items():
        with open(f"{folder}/{name}.ts", "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in typed(dashboard))
    said = mixin.run(*TSC, *(f"{name}.ts" for name in programs), cwd=folder).stdout
    found = {name: [] for name in programs}
    for line in said.splitlines():
        found[line.partition(".ts(")[0]].append(line)
    return found


class TypesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        for program in ("node", "npm"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not installed; it fetches the types")
        if not fetched():
            raise unittest.SkipTest("npm cannot fetch what tests/delivery/monitoring/package-lock.json "
                                    "names; with a registry it would")
        cls.complaints = complaints({**mixin.dashboards(),
                                     "wrong_number": with_a_text_for_a_number(),
                                     "wrong_option": with_an_option_that_is_none()})

    def test_dashboards_have_the_published_types(self):
        for file in mixin.dashboards():
            with self.subTest(dashboard=file):
                self.assertEqual(self.complaints[file], [])

    def test_each_kind_of_panel_has_published_types(self):
        kinds = {panel["type"] for dashboard in mixin.dashboards().values()
                 for panel in mixin.panels(dashboard)}
        self.assertEqual(kinds, set(PANELS))

    def test_a_text_in_place_of_a_number_is_found(self):
        self.assertEqual(len(self.complaints["wrong_number"]), 1, self.complaints)

    def test_an_option_that_there_is_not_is_found(self):
        self.assertEqual(len(self.complaints["wrong_option"]), 1, self.complaints)


if __name__ == "__main__":
    mixin.main()
