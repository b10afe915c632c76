// The two kinds of workloads that noisy neighbours are looked for in, and the names of their series.
local measure = 'perf_cgroup_cycles_per_instruction';
local nameOf(what) = function(kind) '%s:%s:%s' % [kind.level, measure, what];
{
  of(config):: [
    {
      kind: 'Workload',  // of alerts
      noun: 'container',
      level: 'namespace_workload_container',
      workload: config.clusterLabels + ['namespace', 'workload', 'container'] + config.cpi.platformLabels,
      task: ['job', 'instance', 'pod'],
    },
    {
      kind: 'Service',
      noun: 'service',
      level: 'workload',
      workload: config.clusterLabels + ['workload'] + config.cpi.platformLabels,
      task: ['job', 'instance', 'cgroup'],
    },
  ],
  perTask(kind, config):: '%s_task:%s:ratio_rate%s' % [kind.level, measure, config.window],
  aboveLimit(kind):: '%s_task:%s:above_limit' % [kind.level, measure],
  outlier(kind):: '%s_task:%s:outlier' % [kind.level, measure],
  // Of the tasks at present.
  tasks:: nameOf('count'),
  median:: nameOf('median'),
  lowerQuartile:: nameOf('q25'),
  limit:: nameOf('limit'),
  // Of the samples of tasks below the limit.
  samples:: nameOf('samples'),
  sum:: nameOf('sum'),
  sumOfSquares:: nameOf('sumsq'),
  mean(kind, config):: nameOf('avg' + config.cpi.history)(kind),
  deviation(kind, config):: nameOf('stddev' + config.cpi.history)(kind),

  // Cgroups that may be the cause.
  activity(config):: 'cgroup_signal:perf_cgroup_activity:rate' + config.window,
  suspect(config):: 'cgroup_signal:perf_cgroup_suspect:ratio' + config.suspects.history,
}
