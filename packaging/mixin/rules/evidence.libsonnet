// How well was counted: of the groups of each machine in each scope, and of events.
local promql = import '../lib/promql.libsonnet';

// The label `event` of evidence has the spelling of the event, its metric another.
local events = [
  { event: 'cycles', metric: 'cycles' },
  { event: 'instructions', metric: 'instructions' },
  { event: 'branches', metric: 'branches' },
  { event: 'branch-misses', metric: 'branch_misses' },
  { event: 'cache-references', metric: 'cache_references' },
  { event: 'cache-misses', metric: 'cache_misses' },
];
// Series of cgroups have the label `cgroup`.
local scopes = { cpu: '=""', cgroup: '!=""' };

{
  local c = $._config,
  local ofGroups = promql.by(c.hostLabels + ['group']),
  local part(scope, what) = {
    record: 'instance_group:perf_group_%s_per_enabled:ratio_rate%s' % [what, c.window],
    labels: { scope: scope },
    local sum(what) = 'sum %s (rate(perf_group_%s_seconds_total{cgroup%s}[%s]))' %
                      [ofGroups, what, scopes[scope], c.window],
    expr: promql.ratio(sum(what), sum('enabled')),
  },
  // Variances add up where errors do not: the root comes last.
  local relativeError(scope, e) = {
    record: 'instance_event:perf_event_relative_standard_error:ratio_increase%s' % c.window,
    labels: { scope: scope, event: e.event },
    local hosts = promql.by(c.hostLabels),
    expr: promql.ratio(
      'sqrt(sum %s (increase(perf_event_variance_total{event="%s", cgroup%s}[%s])))' %
      [hosts, e.event, scopes[scope], c.window],
      'sum %s (increase(perf_%s_%s_total[%s]))' % [hosts, scope, e.metric, c.window]
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
      ] },
    ],
  },
}
