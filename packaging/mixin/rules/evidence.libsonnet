// How well was counted: of the groups of each machine in each scope, and of events.
local promql = import '../lib/promql.libsonnet';

local events = [
  { event: 'cycles', metric: 'cycles' },
  { event: 'instructions', metric: 'instructions' },
  { event: 'branches', metric: 'branches' },
  { event: 'branch-misses', metric: 'branch_misses' },
  { event: 'cache-references', metric: 'cache_references' },
  { event: 'cache-misses', metric: 'cache_misses' },
];
// Series of cgroups have the label `cgroup`, those of sums of them `sum`. Cgroups may have none, by
// `evidence.cgroups`.
local scopes = { cpu: ['cgroup="", sum=""'], cgroup: ['cgroup!=""', 'sum!=""'] };

{
  local c = $._config,
  local ofGroups = promql.by(c.hostLabels + ['group']),
  local part(scope, what) = {
    record: 'instance_group:perf_group_%s_per_enabled:ratio_rate%s' % [what, c.window],
    labels: { scope: scope },
    local sum(what, selector) = 'sum %s (rate(perf_group_%s_seconds_total{%s}[%s]))' %
                                [ofGroups, what, selector, c.window],
    expr: std.join('or\n', [
      promql.ratio(sum(what, selector), sum('enabled', selector))
      for selector in scopes[scope]
    ]),
  },
  // Of the time in which a group should count: less than the enabled time with a duty cycle, which
  // another job may scrape.
  local shareOfPMU = {
    record: 'instance_group:perf_group_share_of_pmu:ratio_rate%s' % c.window,
    local labels = c.machineLabels + ['group'],
    expr: |||
      %(running)s
      / %(on)s group_left ()
      max %(by)s (perf_event_exporter_group_duty_cycle_ratio)
      or
      %(running)s
    ||| % {
      running: 'instance_group:perf_group_running_per_enabled:ratio_rate%s' % c.window,
      on: promql.on(labels),
      by: promql.by(labels),
    },
  },
  // Variances add up where errors do not: the root comes last. Cgroups have none by default. As
  // Prometheus would add up their counts nevertheless, the count is that of the CPUs.
  local relativeError(scope, e) = {
    record: 'instance_event:perf_event_relative_standard_error:ratio_increase%s' % c.window,
    labels: { scope: scope, event: e.event },
    local hosts = promql.by(c.hostLabels),
    expr: promql.ratio(
      'sqrt(sum %s (increase(perf_%s_%s_variance_total[%s])))' %
      [hosts, scope, e.metric, c.window],
      'sum %s (increase(perf_cpu_%s_total[%s]))' % [hosts, e.metric, c.window]
    ),
  },

  prometheusRules+:: {
    groups+: [
      { name: 'perf_event_exporter.evidence.rules', rules: [
        part(scope, what)
        for what in ['running', 'imputed', 'unmeasured']
        for scope in std.objectFields(scopes)
      ] + (if c.cgroupRules then [
             {
               record: 'cgroup:perf_group_running_per_enabled:ratio_rate%s' % c.window,
               local sum(what) = 'sum without (cpu, pmu) (rate(perf_group_%s_seconds_total{cgroup!=""}[%s]))' %
                                 [what, c.window],
               expr: promql.ratio(sum('running'), sum('enabled')),
             },
           ] else []) + [
        relativeError(scope, e)
        for e in events
        for scope in std.objectFields(scopes)
      ] + [shareOfPMU] },
    ],
  },
}
