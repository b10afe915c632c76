// The two kinds of workloads that noisy neighbours are looked for in, and the names of their series.
local measure = 'perf_cgroup_cycles_per_instruction';
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
  mean(kind, config):: '%s:%s:avg%s' % [kind.level, measure, config.cpi.history],
  deviation(kind, config):: '%s:%s:stddev%s' % [kind.level, measure, config.cpi.history],
  tasks(kind, config):: '%s:%s:count' % [kind.level, measure],
}
