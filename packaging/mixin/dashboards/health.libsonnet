// The exporters themselves: whether they count, how well, and what it costs.
local g = import '../lib/dashboard.libsonnet';
local s = g.selected;

local own(metric) = 'perf_event_exporter_%s{%s}' % [metric, s];
local rate(series) = 'rate(%s[$__rate_interval])' % series;
local perInstance(expr) = g.query(expr, '{{instance}}');

local scopes = [
  { name: 'CPUs', selector: 'cgroup="", sum=""' },
  { name: 'cgroups', selector: 'cgroup!=""' },
  { name: 'sums', selector: 'sum!=""' },
];
local partOfEnabled(what) = [
  g.query('sum by (cluster, instance, group) (%s)\n/ sum by (cluster, instance, group) (%s)' % [
    rate('perf_group_%s_seconds_total{%s, %s}' % [what, s, scope.selector]),
    rate('perf_group_enabled_seconds_total{%s, %s}' % [s, scope.selector]),
  ], '{{instance}} {{group}} of ' + scope.name)
  for scope in scopes
];

// The event's own metric is called otherwise, so each event has a query of its own.
local events = [
  { event: 'cycles', metric: 'cycles' },
  { event: 'instructions', metric: 'instructions' },
  { event: 'branches', metric: 'branches' },
  { event: 'branch-misses', metric: 'branch_misses' },
  { event: 'cache-references', metric: 'cache_references' },
  { event: 'cache-misses', metric: 'cache_misses' },
];
local ofEvents(template) = [
  g.query(template % { event: e.event, metric: e.metric, s: s }, '{{instance}} ' + e.event)
  for e in events
];

local state = g.row('State', 4, [
  g.stat('Up', 'Exporters that could be scraped, and all there are.', 'short', [
    g.query('sum(up{%s})' % s, 'up'),
    g.query('count(up{%s})' % s, 'all'),
  ]),
  g.stat('Age of the counts',
         'The exporter with the oldest poll. The value depends on the clocks of the exporter and of Prometheus.',
         's',
         [g.query('max(time() - %s)' % own('last_poll_timestamp_seconds'), 'age')],
         limits=g.above(60, 300)),
  g.stat('Configuration refused',
         'Exporters that use an older configuration, web configuration or certificate, because the last load failed.',
         'short',
         [g.query('sum(1 - %s) + (sum(1 - %s) or vector(0))' % [own('config_last_reload_successful'), own('web_config_last_reload_successful')], 'exporters')],
         limits=g.above(1)),
  g.stat('Events missing',
         'Configured events that the machine cannot count: see the table below.',
         'short',
         [g.query(g.refusedEvents('sum', s), 'events', needs=g.counting(s))],
         limits=g.above(1)),
  g.stat('Cgroups left out',
         'Matching cgroups that are not counted because of a limit.',
         'short',
         [g.query('sum(perf_event_exporter_cgroups{%s, state="left_out"})' % s, 'cgroups')],
         limits=g.above(1)),
  g.stat('Counters',
         'Open counters of all exporters. Each takes one file descriptor.',
         'short',
         [g.query('sum(%s)' % own('open_events'), 'counters')]),
], open=true);

local quality = g.row('How well is counted', 9, [
  g.timeSeries('Time on the PMU, by group',
               'Fraction of the time that a group was on the PMU. At 100 %, its counts are exact; below, they are estimates.',
               'percentunit',
               partOfEnabled('running'),
               width=12,
               max=1,
               many=true,
               limits=g.below(0.2, 0.05)),
  g.timeSeries('Time that is not counted',
               'Fraction of the enabled time of a group that is not counted.',
               'percentunit',
               partOfEnabled('unmeasured'),
               width=12,
               many=true),
  g.timeSeries('Time filled from the rate before',
               'Fraction of the time in which a group was off the PMU for a whole poll and its last rates were used.',
               'percentunit',
               partOfEnabled('imputed'),
               width=12,
               many=true),
  g.timeSeries('Extrapolated part of counts',
               'Fraction of the published counts of the CPUs that is estimated.',
               'percentunit',
               ofEvents(|||
                 1 - sum by (cluster, instance) (rate(perf_cpu_%(metric)s_observed_total{%(s)s}[$__rate_interval]))
                   / sum by (cluster, instance) (rate(perf_cpu_%(metric)s_total{%(s)s}[$__rate_interval]))
               |||),
               width=12,
               max=1,
               many=true),
  g.timeSeries('Relative standard error',
               'Standard error of the counts of the CPUs, because a group was on the PMU for only a part of the time. Requires `evidence: {variance: true}`. Not meaningful for less than a minute.',
               'percentunit',
               ofEvents(|||
                 sqrt(sum by (cluster, instance) (increase(perf_cpu_%(metric)s_variance_total{%(s)s}[$__rate_interval])))
                   / sum by (cluster, instance) (increase(perf_cpu_%(metric)s_total{%(s)s}[$__rate_interval]))
               |||),
               width=12,
               many=true),
  g.timeSeries('Activity seen while on the PMU',
               'Whether a group was on the PMU while the CPU did its usual work: 1 means yes; 0.5 means that scaling by time would miss half. Requires `evidence: {reference: true}`.',
               'short',
               [g.query(|||
                 (
                   sum by (cluster, instance, group) (rate(perf_group_reference_sampled_total{%(s)s, cgroup="", sum=""}[$__rate_interval]))
                   / sum by (cluster, instance, group) (rate(perf_group_reference_total{%(s)s, cgroup="", sum=""}[$__rate_interval]))
                 ) / (
                   sum by (cluster, instance, group) (rate(perf_group_running_seconds_total{%(s)s, cgroup="", sum=""}[$__rate_interval]))
                   / sum by (cluster, instance, group) (rate(perf_group_enabled_seconds_total{%(s)s, cgroup="", sum=""}[$__rate_interval]))
                 )
               ||| % { s: s }, '{{instance}} {{group}}')],
               width=12,
               many=true),
]);

local refused = g.row('What is not counted', 8, [
  g.table('Events not counted',
          'Configured events that the machine cannot count, why, and whether somebody can change that. The status page of the exporter shows what to do.',
          [{ name: 'Refused', unit: 'bool_yes_no', query: own('event_refusal_info') }],
          ['instance', 'event', 'scope', 'errno', 'remedy'],
          width=8,
          hidden=['__name__', 'job']),
  g.timeSeries('Counters refused',
               'Failed attempts to open a counter, per second.',
               'ops',
               [g.query('sum by (cluster, instance, errno) (%s)' % rate(own('event_open_errors_total')), '{{instance}} {{errno}}')]),
  g.timeSeries('Problems of groups',
               'Per second: readings that failed, decreased totals, wrong running times, pinned groups that were not on the PMU, groups that stood still.',
               'ops',
               [g.query('sum by (cluster, instance, group, problem) (%s)' % rate('perf_group_problems_total{%s}' % s), '{{instance}} {{group}} {{problem}}')],
               width=16),
  g.table('Groups that are counted only on some CPUs',
          'Fraction of the CPUs on which a group is counted, where it is below 1. Counts are not published until it is 1, except those of sums, which are too low.',
          [{ name: 'CPUs', unit: 'percentunit', query: 'perf_group_coverage_ratio{%s}' % s }],
          ['instance', 'group', 'cgroup', 'sum'],
          width=16,
          hidden=['__name__', 'job', 'container_id', 'pod_uid']),
]);

local cgroups = g.row('Cgroups', 8, [
  g.timeSeries('Cgroups, by state',
               'All selected exporters.',
               'short',
               [g.query('sum by (state) (%s)' % own('cgroups'), '{{state}}')],
               stacked=true),
  g.timeSeries('Cgroups left out and missed',
               'Per second. Left out: by limit. Missed: removed before their counters were open.',
               'ops',
               [
                 g.query('sum by (cluster, instance, reason) (%s)' % rate(own('cgroups_left_out_total')), '{{instance}} left out: {{reason}}'),
                 g.query('sum by (cluster, instance) (%s)' % rate(own('cgroups_missed_total')), '{{instance}} missed'),
               ]),
  g.timeSeries('Cgroups rotated by the exporter',
               '(Cgroup, CPU) pairs: kernel multiplexing starved a group there, and the exporter rotates the groups itself.',
               'short',
               [perInstance(own('cgroups_rotated_manually'))]),
  g.timeSeries('CPUs, by how cgroups are counted',
               'All selected exporters. Records: of switches between cgroups. Descriptors: of each event, cgroup and CPU.',
               'short',
               [g.query('sum by (source) (%s)' % own('cgroup_source_cpus'), '{{source}}')],
               stacked=true),
  g.timeSeries('Records of switches',
               'Per second. Lost: the buffer was full. Skipped: the kernel did not write the record.',
               'ops',
               [g.query('sum by (cluster, instance, outcome) (%s)' % rate(own('switch_records_total')), '{{instance}} {{outcome}}')]),
  g.timeSeries('CPU time of cgroups without a name',
               'CPUs in use by cgroups whose path was not found within a minute. They are counted for no cgroup.',
               'short',
               [perInstance(rate(own('unnamed_cgroups_cpu_seconds_total')))]),
  g.timeSeries('CPU time in no counted cgroup',
               'CPUs in use by cgroups that are not counted, by kernel threads, or by interrupts.',
               'short',
               [perInstance(rate(own('uncounted_cpu_seconds_total')))]),
  g.timeSeries('Directories of cgroups, by state',
               'All selected exporters. Cgroups beyond the limit, or with a path that is too long, are not counted.',
               'short',
               [g.query('sum by (state) (%s)' % own('cgroup_directories'), '{{state}}')],
               stacked=true),
  g.timeSeries('Sums',
               'Sums over cgroups that are served, and cgroups that are added up as `other` because the sums have reached their maximum number. Needs cgroups.sums.',
               'short',
               [
                 g.query('sum by (cluster, instance, sum) (%s)' % own('sums'), '{{instance}} {{sum}}'),
                 g.query('sum by (cluster, instance, sum) (%s)' % own('sum_cgroups_left_out'), '{{instance}} {{sum}}: cgroups left out'),
               ]),
]);

local polls = g.row('Polls', 8, [
  g.timeSeries('Duration of a poll',
               'Time from the start of a poll to its snapshot: the mean, and what 99 % of the polls do not exceed.',
               's',
               [
                 g.query('%s\n/ %s' % [rate(own('poll_duration_seconds_sum')), rate(own('poll_duration_seconds_count'))], '{{instance}} mean'),
                 g.query('histogram_quantile(0.99, %s)' % rate(own('poll_duration_seconds_bucket')), '{{instance}} 99 %'),
               ]),
  g.timeSeries('Polls per second',
               'Completed polls.',
               'ops',
               [perInstance(rate(own('polls_total')))]),
  g.timeSeries('Polls skipped',
               'Fraction of the polls that were skipped, because an earlier poll took too long or the exporter got too little CPU time.',
               'percentunit',
               [perInstance('%s\n/ (%s + %s)' % [rate(own('poll_overruns_total')), rate(own('poll_overruns_total')), rate(own('polls_total'))])]),
]);

local cost = g.row('What it takes', 8, [
  g.timeSeries('CPU time of the exporter',
               'CPUs in use by the exporter, without the cost of counting for the counted tasks (docs/cost.md).',
               'short',
               [perInstance(rate('process_cpu_seconds_total{%s}' % s))]),
  g.timeSeries('Memory of the exporter',
               'Resident memory.',
               'bytes',
               [perInstance('process_resident_memory_bytes{%s}' % s)]),
  g.timeSeries('Limits',
               'File descriptors and series, as a fraction of their limits.',
               'percentunit',
               [
                 g.query('process_open_fds{%s}\n/ process_max_fds{%s}' % [s, s], '{{instance}} file descriptors'),
                 g.query('%s\n/ %s' % [own('series'), own('series_limit')], '{{instance}} series'),
               ],
               max=1,
               limits=g.above(0.9)),
]);

local scrapes = g.row('Scrapes', 8, [
  g.timeSeries('Duration of a scrape',
               'As Prometheus saw it.',
               's',
               [perInstance('scrape_duration_seconds{%s}' % s)]),
  g.timeSeries('Samples of a scrape',
               'As Prometheus saw it.',
               'short',
               [perInstance('scrape_samples_scraped{%s}' % s)]),
  g.timeSeries('Clients refused or dropped',
               'Per second, by reason. docs/serving.md explains the reasons.',
               'ops',
               [g.query('sum by (cluster, instance, reason) (%s)' % rate(own('http_errors_total')), '{{instance}} {{reason}}')]),
]);

local builds = g.row('Builds', 6, [
  g.table('Versions',
          'The selected exporters.',
          [{ name: 'Up since', unit: 'dateTimeAsIso', query: '1000 * process_start_time_seconds{%s}\n* on (cluster, job, instance) group_left (version, compiler) %s' % [s, own('build_info')] }],
          ['instance', 'version', 'compiler'],
          hidden=['__name__', 'job']),
]);

{
  grafanaDashboards+:: {
    'exporter-health.json': g.dashboard(
      $._config,
      'perf-event-exporter-health',
      'perf_event_exporter / Exporter health',
      'Whether the exporters count, the quality of the counts, and the cost.',
      [],
      [state, quality, refused, cgroups, polls, cost, scrapes, builds]
    ),
  },
}
