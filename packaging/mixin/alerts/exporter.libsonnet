// Of the exporter itself: that it runs, polls, has room, and took its configuration.
local alert = import '../lib/alert.libsonnet';
local promql = import '../lib/promql.libsonnet';
{
  local c = $._config,
  local a(name, severity, duration, expr, summary, description) =
    alert(c, name, severity, duration, expr, summary, description),

  prometheusAlerts+:: {
    groups+: [{ name: 'perf_event_exporter.exporter.alerts', rules: [
      a('PerfEventExporterDown',
        'warning',
        '5m',
        'up{%s} == 0' % c.exporterSelector,
        'An exporter cannot be scraped.',
        'Prometheus has not been able to scrape {{ $labels.instance }} for 5 minutes.'),
      a('PerfEventExporterNotPolling',
        'warning',
        '5m',
        'increase(perf_event_exporter_polls_total[10m]) == 0\nunless perf_event_exporter_poll_interval_seconds >= 600',
        'An exporter responds to scrapes, but does not count.',
        '{{ $labels.instance }} has not completed a poll in 10 minutes. The counts that it serves are old or missing.'),
      a('PerfEventExporterPollOverruns',
        'warning',
        '15m',
        |||
          rate(perf_event_exporter_poll_overruns_total[15m])
          / (rate(perf_event_exporter_poll_overruns_total[15m]) + rate(perf_event_exporter_polls_total[15m]))
          > %g
        ||| % c.maxOverrunRatio,
        'An exporter skips polls.',
        '{{ $labels.instance }} skips {{ $value | humanizePercentage }} of its polls: reading all counters takes longer than the interval, or the exporter gets too little CPU time.'),
      a('PerfEventExporterCPULate',
        'warning',
        '15m',
        'perf_event_exporter_cpus{state="late"} > 0',
        'Some CPUs do not answer an exporter.',
        'On {{ $labels.instance }}, {{ $value }} CPUs did not answer for 15 minutes. Their series do not change. They probably hang in the kernel.'),
      a('PerfEventExporterFileDescriptorsNearLimit',
        'warning',
        '15m',
        'process_open_fds{%(s)s} / process_max_fds{%(s)s} > %(max)g' % { s: c.exporterSelector, max: c.maxLimitUsage },
        'An exporter is about to run out of file descriptors.',
        '{{ $labels.instance }} uses {{ $value | humanizePercentage }} of the file descriptors that it may open. Each counter takes one.'),
      a('PerfEventExporterSeriesNearLimit',
        'warning',
        '15m',
        'perf_event_exporter_series / perf_event_exporter_series_limit > %g' % c.maxLimitUsage,
        'An exporter is about to reach its limit of series.',
        '{{ $labels.instance }} publishes {{ $value | humanizePercentage }} of the series that limits.max_series allows. At the limit, further cgroups are left out.'),
      a('PerfEventExporterCgroupsLeftOut',
        'warning',
        '15m',
        'perf_event_exporter_cgroups{state="left_out"} > 0',
        'An exporter leaves out cgroups because of a limit.',
        '{{ $labels.instance }} does not count {{ $value }} matching cgroups because of a limit. Its log and its status page show which limit.'),
      a('PerfEventExporterCgroupDirectoriesNotFollowed',
        'warning',
        '15m',
        'perf_event_exporter_cgroup_directories{state=~"beyond_limit|path_too_long"} > 0',
        'An exporter does not read all cgroup directories.',
        '{{ $labels.instance }} does not read {{ $value }} cgroup directories ({{ $labels.state }}). The cgroups in them are not counted.'),
      a('PerfEventExporterCgroupsMissed',
        'info',
        '15m',
        'increase(perf_event_exporter_cgroups_missed_total[15m]) > %g' % c.maxMissedCgroups,
        'Many cgroups are removed before an exporter has opened their counters.',
        '{{ $labels.instance }} missed {{ $value | humanize }} cgroups in 15 minutes: they existed for milliseconds, or waited because of limits.opens_per_second.'),
      // 0 is for those who know the start times of counters. The interval is a mean: it is never quite that
      // of the scraper.
      a('PerfEventExporterLingerTooShort',
        'info',
        '15m',
        |||
          perf_event_exporter_scrape_interval_seconds
            > 1.02 * (perf_event_exporter_cgroup_linger_seconds > 0)
        |||,
        'The series of removed cgroups end before the next scrape.',
        '{{ $labels.instance }} is scraped every {{ $value | humanizeDuration }}, and serves the series of a removed cgroup for less than that (cgroups.linger). What a cgroup counted between its last scrape and its end is lost.'),
      a('PerfEventExporterZeroForTooShort',
        'info',
        '15m',
        |||
          perf_event_exporter_scrape_interval_seconds
            > %s group_right () 1.02 * (perf_event_exporter_sum_zero_seconds > 0)
        ||| % promql.on(c.hostLabels),
        'A new sum over cgroups may not be scraped while it is served as 0.',
        '{{ $labels.instance }} is scraped every {{ $value | humanizeDuration }}, and serves a new sum {{ $labels.sum }} as 0 for less than that (zero_for). rate() and increase() lack what the sum has counted before its first scrape.'),
      a('PerfEventExporterConfigReloadFailed',
        'warning',
        '5m',
        'perf_event_exporter_config_last_reload_successful == 0',
        'An exporter could not load its configuration.',
        'The last load of the configuration of {{ $labels.instance }} failed. The previous configuration stays in force.'),
      a('PerfEventExporterWebConfigReloadFailed',
        'warning',
        '5m',
        'perf_event_exporter_web_config_last_reload_successful == 0',
        'An exporter could not load its web configuration or a certificate.',
        '{{ $labels.instance }} still uses its previous web configuration and certificates, which may expire. A restart would use the files on disk.'),
      a('PerfEventExporterWebConfigDowngraded',
        'warning',
        '0m',
        'sum %s (increase(perf_event_exporter_web_config_downgrades_total{outcome="adopted"}[15m])) > 0' % promql.by(c.hostLabels + ['protection']),
        'A change of the web configuration reduced the protection of an exporter.',
        '{{ $labels.instance }} loaded a web configuration with less protection than before: {{ $labels.protection }}.'),
    ] }],
  },
}
