// Of what is counted: what is not, and what is counted badly.
local alert = import '../lib/alert.libsonnet';
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local a(name, severity, duration, expr, summary, description) =
    alert(c, name, severity, duration, expr, summary, description),
  local ofGroups(what, comparison) =
    'instance_group:perf_group_%s_per_enabled:ratio_rate%s %s' % [what, c.window, comparison],
  local multiplexed =
    'instance_group:perf_group_share_of_pmu:ratio_rate%s < %g' % [c.window, c.minRunningRatio],
  local group = 'group {{ $labels.group }} of scope {{ $labels.scope }} on {{ $labels.instance }}',

  local nothingCounts = 'perf_event_exporter_counting == 0',
  local reasons = 'Its log (journalctl -u perf_event_exporter -p warning, or kubectl logs) and its status page show why, and what to do. If root runs `perf_event_exporter doctor`, it shows what root may do: docs/permissions.md has the command that runs it with the rights of the service.',

  prometheusAlerts+:: {
    groups+: [{ name: 'perf_event_exporter.counting.alerts', rules: [
      a('PerfEventExporterCountsNothing',
        'warning',
        '10m',
        nothingCounts + '\nunless %s perf_event_exporter_reduced_info' % promql.on(c.hostLabels),
        'An exporter counts no event.',
        '{{ $labels.instance }} runs, but counts none of its configured events. ' + reasons),
      // Present if cgroups, or sums of them, are configured.
      a('PerfNoCgroups',
        'info',
        '30m',
        'sum %s (perf_event_exporter_cgroups) == 0' % promql.by(c.hostLabels),
        'An exporter counts no cgroup.',
        '{{ $labels.instance }} is configured to count cgroups, and found none: no hierarchy that it sees has the perf_event controller, or no cgroup matches cgroups.include. The log has the reason, and `perf_event_exporter cgroups --all` shows every cgroup.'),
      // Events that the hardware or the kernel lacks are no alert: nobody can change that.
      a('PerfEventRefused',
        'warning',
        '15m',
        |||
          count %s (perf_event_exporter_event_refusal_info{remedy="yes"}) > 0
          unless %s %s
        ||| % [promql.by(c.hostLabels + ['errno']), promql.on(c.hostLabels), nothingCounts],
        'The kernel refuses configured events that it could count.',
        'On {{ $labels.instance }}, {{ $value }} configured events are not counted{{ if $labels.errno }} ({{ $labels.errno }}){{ end }}, and this can be changed: rights, a limit, another program or the configuration is the cause. ' + reasons + ' An event in two scopes counts twice.'),
      a('PerfEventOpenErrors',
        'warning',
        '15m',
        'sum %s (\n  %s\n)' % [
          promql.by(c.hostLabels + ['errno']),
          promql.nested(promql.grew('perf_event_exporter_event_open_errors_total', '15m'), 2),
        ],
        'The kernel refuses to open counters.',
        'On {{ $labels.instance }}, opening counters failed repeatedly with {{ $labels.errno }}. The log and the status page show the events.'),
      a('PerfGroupMultiplexed',
        'info',
        '30m',
        multiplexed,
        'A group of events is on the PMU for a small part of the time.',
        'For 30 minutes, %s was on the PMU for only {{ $value | humanizePercentage }} of its enabled time (of the part that duty_cycle allows). Its counts are estimates.' % group),
      a('PerfGroupUnmeasured',
        'warning',
        '15m',
        ofGroups('unmeasured', '> %g' % c.maxUnmeasuredRatio),
        'The counts of a group are incomplete.',
        'For {{ $value | humanizePercentage }} of its enabled time, %s was not counted, and the missing counts were not estimated. Its counts are too low.' % group),
      a('PerfGroupPartlyCovered',
        'warning',
        '15m',
        'count %s (perf_group_coverage_ratio < 1) > 0' % promql.by(c.hostLabels),
        'Groups of events are counted only on some CPUs.',
        'On {{ $labels.instance }}, {{ $value }} groups of events of a cgroup, of a sum of cgroups, or of a part of the machine, are counted only on some CPUs. Counts of a cgroup, or of a part of the machine, are not published until they are counted on all. Sums of cgroups are published, and are too low. The log has the error, and perf_group_coverage_ratio names them.'),
      a('PerfGroupReadErrors',
        'warning',
        '15m',
        'sum %s (\n  %s\n)' % [
          promql.by(c.hostLabels + ['group']),
          promql.nested(promql.grew('perf_group_problems_total{problem=~"anomaly|read_error"}', '15m'), 2),
        ],
        'Counters cannot be read, or decreased.',
        'On {{ $labels.instance }}, reads of group {{ $labels.group }} failed, or a kernel total decreased.'),
      a('PerfGroupPinnedOffPMU',
        'warning',
        '15m',
        // Each poll counts one. Without the activity reference: what is counted goes on without it.
        'sum %s (increase(perf_group_problems_total{problem="pinned_off_pmu", group!="(reference)"}[5m])) > 0' %
        promql.by(c.hostLabels + ['group']),
        'A pinned group is not on the PMU.',
        'On {{ $labels.instance }}, pinned group {{ $labels.group }} is not counted, because other users of the PMU have the counters.'),
      a('PerfEventImprecise',
        'info',
        '30m',
        'instance_event:perf_event_relative_standard_error:ratio_increase%s > %g' % [c.window, c.maxRelativeError],
        'The estimate of an event is inaccurate.',
        'The standard error of {{ $labels.event }} in scope {{ $labels.scope }} on {{ $labels.instance }} is {{ $value | humanizePercentage }} of its count.'),
      a('PerfSwitchRecordsLost',
        'info',
        '30m',
        |||
          sum %(by)s (rate(perf_event_exporter_switch_records_total{outcome=~"lost|skipped"}[15m]))
          / sum %(by)s (rate(perf_event_exporter_switch_records_total[15m]))
          > %(max)g
        ||| % { by: promql.by(c.hostLabels), max: c.maxLostRecordsRatio },
        'Records of switches between cgroups are lost.',
        '{{ $labels.instance }} lost {{ $value | humanizePercentage }} of the records of switches between cgroups. The counts of their time are estimated or missing.'),
      // Also after a reload that changes `source` to descriptors, until the exporter is restarted: no
      // metric has the configured source.
      a('PerfRecordsGivenUp',
        'info',
        '30m',
        |||
          perf_event_exporter_cgroup_source_cpus{source="descriptors"} > 0
          and %(on)s
          sum %(by)s (perf_event_exporter_switch_records_total) > 0
          and %(on)s
          sum %(by)s (perf_event_exporter_cgroups{state=~"counted|idle"}) >= %(min)d
        ||| % { on: promql.on(c.hostLabels), by: promql.by(c.hostLabels), min: c.minCgroupsForRecords },
        'Cgroups are no longer counted by records of switches.',
        '{{ $labels.instance }} counted cgroups by records of switches, and counts them by descriptors on {{ $value }} CPUs now: each event of a cgroup takes a descriptor there, and short-lived cgroups are missed. The log and the status page have the reason; docs/cgroups.md explains it.'),
      a('PerfSumsLeftOut',
        'warning',
        '15m',
        'perf_event_exporter_sum_cgroups_left_out > 0',
        'Cgroups have no sum of their own, because there are too many.',
        'On {{ $labels.instance }}, {{ $value }} cgroups are added up as `other` in sum {{ $labels.sum }}: it has as many combinations of labels as `max` allows.'),
      a('PerfCgroupsUnnamed',
        'warning',
        '15m',
        |||
          sum %(by)s (rate(perf_event_exporter_unnamed_cgroups_cpu_seconds_total[15m]))
          / sum %(by)s (perf_event_exporter_cpus{state!="left_out"})
          > %(max)g
        ||| % { by: promql.by(c.hostLabels), max: c.maxUnnamedRatio },
        'CPU time is counted for no cgroup.',
        '{{ $value | humanizePercentage }} of the CPU time of {{ $labels.instance }} is that of cgroups whose path was not found. It is counted for no cgroup.'),
      a('PerfCPUTimeUncounted',
        'info',
        '1h',
        |||
          sum %(by)s (rate(perf_event_exporter_uncounted_cpu_seconds_total[15m]))
          / sum %(by)s (perf_event_exporter_cpus)
          > %(max)g
        ||| % { by: promql.by(c.hostLabels), max: c.maxUncountedRatio },
        'Much CPU time is in no counted cgroup.',
        '{{ $value | humanizePercentage }} of the CPUs of {{ $labels.instance }} are used by cgroups that are not counted, by kernel threads, or by interrupts. The status page and `perf_event_exporter cgroups` list the largest, with the pattern that counts each.'),
    ] }],
  },
}
