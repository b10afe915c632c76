// What may have to be changed for a site. Override it in a file of your own and generate from that:
//
//   (import 'mixin.libsonnet') + { _config+:: { clusterLabels: ['cluster'], minRunningRatio: 0.1 } }
{
  _config+:: {
    // Which targets are exporters: for `up`, and for metrics of the process. The second form of the
    // job's name is that of a PodMonitor, `namespace/name`.
    exporterSelector: 'job=~"(.*/)?perf[-_]event[-_]exporter"',
    // Labels that distinguish clusters, where one Prometheus has several: for example ['cluster'].
    clusterLabels: [],
    // Labels that distinguish exporters.
    hostLabels: $._config.clusterLabels + ['job', 'instance'],
    // Of rates; also a part of the names of rules. At least four times the scrape interval.
    window: '5m',

    // Alerts: see docs/monitoring.md.
    // Of the time that a group wanted the PMU. The shipped configuration wants six hardware events for
    // CPUs and six for the cgroup that runs: on a PMU with room for half of them, each has half of the
    // time, and nothing is wrong. Whether the estimates are good is what maxRelativeError asks.
    minRunningRatio: 0.2,
    maxUnmeasuredRatio: 0.01,  // of the same
    maxRelativeError: 0.1,  // standard error of an event, as a part of its count
    maxOverrunRatio: 0.05,  // polls skipped, as a part of all that were due
    maxLimitUsage: 0.9,  // of descriptors and series
    maxMissedCgroups: 100,  // in 15 minutes

    // Noisy neighbours: a task is an outlier when its cycles per instruction are so many standard
    // deviations, and so much in any case, above the mean of its workload.
    cpi: {
      minCpus: 0.25,  // below that a task's own ratio says little
      minTasks: 5,  // below that a workload has no mean worth the name
      deviations: 2,
      minExcess: 1.25,  // times the mean
      history: '1d',  // of the mean and the deviation; also a part of names of rules
      // Labels of targets that distinguish kinds of machines, on which the same work takes another
      // number of cycles: for example ['cpu_model'].
      platformLabels: [],
    },

    // Where docs/monitoring.md can be read, with %s for the anchor: each alert gets a `runbook_url`
    // then. Empty: an annotation `runbook` names file and anchor.
    runbookURLPattern: '',

    dashboardTag: 'perf_event_exporter',
    dashboardRefresh: '30s',
    dashboardFrom: 'now-1h',
  },
}
