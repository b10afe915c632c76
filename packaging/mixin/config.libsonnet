// Settings of your site. Override them in your own file, and generate from that file:
//
//   (import 'mixin.libsonnet') + { _config+:: { clusterLabels: ['cluster'], minRunningRatio: 0.1 } }
{
  _config+:: {
    // Selects the exporters, for `up` and for metrics of the process. A PodMonitor has a job name of
    // the form `namespace/name`.
    exporterSelector: 'job=~"(.*/)?perf[-_]event[-_]exporter"',
    // Labels that distinguish the clusters of one Prometheus, for example ['cluster'].
    clusterLabels: [],
    // Labels that distinguish exporters.
    hostLabels: $._config.clusterLabels + ['job', 'instance'],
    // Labels that distinguish machines. Several jobs may scrape one machine, with different groups.
    machineLabels: $._config.clusterLabels + ['instance'],
    // Window of rates, which is also part of the names of rules. At least four scrape intervals.
    window: '5m',
    // Record ratios of each cgroup (cgroup:*). No alert and no dashboard reads them, and each rule has
    // a series for each cgroup.
    cgroupRules: false,
    // The same of each CPU (cpu:*).
    cpuRules: false,

    // Alerts: see docs/monitoring.md.
    // Fraction of the enabled time of a group that it must be on the PMU. If cgroups are counted by
    // descriptors, the shipped configuration has six hardware events for CPUs and six for the running
    // cgroup: on a PMU with counters for half of them, each group is on the PMU for half of the time,
    // which is no problem. maxRelativeError checks the accuracy of the estimates.
    minRunningRatio: 0.2,
    maxUnmeasuredRatio: 0.01,  // fraction of the enabled time that is not counted
    maxRelativeError: 0.1,  // standard error of an event, as a fraction of its count
    maxLostRecordsRatio: 0.01,  // lost and skipped records of switches, as a fraction of all records
    minCgroupsForRecords: 4,  // with `source: auto`, fewer cgroups are counted by descriptors
    maxUnnamedRatio: 0.01,  // CPU time of cgroups without a known path, as a fraction of all CPUs
    maxUncountedRatio: 0.25,  // CPU time in no counted cgroup, as a fraction of all CPUs
    maxOverrunRatio: 0.05,  // skipped polls, as a fraction of all polls
    maxLimitUsage: 0.9,  // used fraction of the limits of descriptors and series
    maxMissedCgroups: 100,  // in 15 minutes

    // Noisy neighbours: a task is an outlier if its cycles per instruction exceed the mean of its
    // workload by both `deviations` and `minExcess`, and the median of its other tasks likewise.
    cpi: {
      minCpus: 0.25,  // tasks that use less are not compared
      minTasks: 5,  // workloads with fewer tasks on a kind of machine are not compared
      deviations: 3,  // standard deviations above the mean
      minExcess: 1.25,  // times the mean
      history: '1d',  // of the mean and the deviation; also part of the names of rules
      // Labels that distinguish kinds of machines, because the same work needs another number of cycles
      // on each: `cpu_model` is made of perf_machine_info, others are labels of your targets.
      platformLabels: ['cpu_model'],
    },
    // Cgroups that may be the cause.
    suspects: {
      minShare: 0.05,  // smaller parts of the machine's CPUs and cache misses are not looked at
      minMoved: 0.1,  // by how much such a part must have grown, as a fraction of the machine's
      history: '1h',  // also part of the names of rules
    },

    // URL of docs/monitoring.md, with %s for the anchor: the annotation `runbook_url` of each alert.
    runbookURLPattern: 'docs/monitoring.md#%s',

    dashboardTag: 'perf_event_exporter',
    dashboardRefresh: '30s',
    dashboardFrom: 'now-1h',
  },
}
