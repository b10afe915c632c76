"""All rules and alerts, loaded into Prometheus with two thousand containers: each can be evaluated, and each
recording rule records something. What they cost at full size is measured by rule_cost.py."""

import re
import shutil
import unittest

import mixin
import rule_cost

CONTAINERS, INTERVAL = 2000, 3  # seconds
# What needs other events than these machines count, an hour, or a service that is slow.
NOTHING = re.compile("instance.*(llc|stalled|hertz|energy|memory|relative_standard_error)|"
                     ".*:moved|.*_(activity_moved|suspect):|workload_task:.*:(above_limit|outlier)")


class RuleCostTest(unittest.TestCase):
    def setUp(self):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed (packaging/dependencies/clients.txt)")

    def test_all_rules_of_a_fleet_are_evaluated_and_have_results(self):
        with rule_cost.Evaluating("global: {}\n") as prometheus:
            rule_cost.fill(prometheus, rule_cost.Containers(CONTAINERS))
            path = rule_cost.one_group(mixin.RULE_FILES, prometheus.scratch, INTERVAL)
            rules = rule_cost.evaluate(prometheus, path, 1)

            self.assertEqual([(rule.name, rule.error) for rule in rules if rule.error], [])
            recorded = {dict(labels)["__name__"] for labels in
                        prometheus.query('count by (__name__) ({__name__=~".+:.+:.+"})')}
            tasks = prometheus.scalar("count(namespace_workload_container_task:"
                                      "perf_cgroup_cycles_per_instruction:ratio_rate5m)")

        self.assertEqual([name for name in mixin.names_of("record")
                          if name not in recorded and not NOTHING.match(name)], [])
        self.assertEqual(tasks, CONTAINERS)


if __name__ == "__main__":
    mixin.main()
