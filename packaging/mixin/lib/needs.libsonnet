// What a panel shows when it has no data (Grafana's `noValue`): what its first query needs, and where to
// look. The text follows from the metrics of the query. A metric without an entry here is an error.

// In the order of the text. The first kind that a query needs decides where to look.
local doctor = 'perf_event_exporter doctor';
local kinds = [
  { kind: 'rules', see: 'docs/monitoring.md' },
  { kind: 'sums', see: 'docs/cgroups.md' },
  { kind: 'evidence', see: 'docs/configuration.md' },
  { kind: 'added', suffix: ' in groups', see: 'perf_event_exporter list' },  // not in the shipped configuration
  { kind: 'hardware', suffix: ' (core PMU)', see: doctor },
  { kind: 'energy', suffix: ' (RAPL)', see: doctor },
  { kind: 'software', see: doctor },
  { kind: 'cgroups', suffix: ' of a cgroup', see: 'perf_event_exporter cgroups' },
  { kind: 'scope', see: 'docs/cgroups.md' },
  { kind: 'exporter', see: 'Status, Targets in Prometheus' },
];
local need(kind, text) = [{ kind: kind, text: text }];
local none(text) = [{ none: 'None: ' + text }];  // a panel without data is the good case
local outliers = none('no outlier, or no recording rules: see docs/monitoring.md');

// Parts of names: what perf_cpu_*, perf_cgroup_* and sums count, and what is recorded of it.
local hardware = {
  cycles: 'cycles',
  instructions: 'instructions',
  branches: 'branches',
  branch_misses: 'branch-misses',
  cache_references: 'cache-references',
  cache_misses: 'cache-misses',
};
local software = {
  task_clock_seconds: 'task-clock',
  context_switches: 'context-switches',
  migrations: 'cpu-migrations',
  minor_faults: 'minor-faults',
  major_faults: 'major-faults',
};
local added = {
  stalled_cycles_frontend: 'stalled-cycles-*',
  stalled_cycles_backend: 'stalled-cycles-*',
  llc_load_misses: 'LLC-load-misses',
  dtlb_load_misses: 'dTLB-load-misses',
  node_loads: 'node-loads',
  node_load_misses: 'node-load-misses',
  slots: 'cpu/slots/',
  topdown_retiring: 'cpu/topdown-*/',
  topdown_bad_spec: 'cpu/topdown-*/',
  topdown_fe_bound: 'cpu/topdown-*/',
  topdown_be_bound: 'cpu/topdown-*/',
  msr_aperf: 'msr/aperf/',
  msr_mperf: 'msr/mperf/',
  msr_tsc: 'msr/tsc/',
};
local ofEvents(kind, events) = { [part]: need(kind, events[part]) for part in std.objectFields(events) };
local perInstruction = need('hardware', 'cycles') + need('hardware', 'instructions');
local parts = ofEvents('hardware', hardware) + ofEvents('added', added) + {
  cycles_per_instruction: perInstruction,
  instructions_per_cycle: perInstruction,
};

local rules = need('rules', 'recording rules');
local withNames = rules + need('rules', 'kube-state-metrics');
local exporter = need('exporter', 'a scraped exporter');
local ofScope = need('scope', 'a group of scope cgroup');
local byRecords = need('scope', 'cgroups counted by records');
local sums = need('sums', 'cgroups.sums');
local sumsOfEvents = parts + ofEvents('software', software);
local ofCgroups = parts + ofEvents('cgroups', software);

// Beginnings of names, with what the rest of them adds. The longest one counts.
local table = {
  perf_cpu_: { needs: [], rest: parts + ofEvents('software', software) },
  perf_cgroup_: { needs: [], rest: ofCgroups { info: [] } },
  perf_sum_: { needs: sums, rest: sumsOfEvents { cgroups: [] } },
  'namespace_pod_container:perf_cgroup_': { needs: withNames, rest: ofCgroups },
  'namespace_workload:perf_cgroup_': { needs: withNames, rest: ofCgroups },
  'namespace_workload_container:perf_cgroup_': { needs: withNames, rest: ofCgroups },
  'namespace_workload_container_task:perf_cgroup_': { needs: withNames, rest: ofCgroups },
  'workload:perf_cgroup_': { needs: rules, rest: ofCgroups },
  'workload_task:perf_cgroup_': { needs: rules, rest: ofCgroups },
  'cpu_model:perf_cpu_': { needs: rules, rest: parts },
  'instance:perf_machine_cpu_model': { needs: rules },
  'instance:perf_cgroup_outliers': { needs: outliers },
  'cgroup_signal:perf_cgroup_suspect': { needs: outliers },
  perf_energy_joules: { needs: need('energy', 'power/energy-*/') },
  perf_uncore_imc_cas_count_: { needs: need('added', 'uncore imc/cas_count_*/') },
  perf_group_: { needs: need('software', 'a counted group') },
  perf_group_imputed: { needs: need('hardware', 'hardware events') },
  perf_group_unmeasured: { needs: need('hardware', 'hardware events') },
  perf_group_reference: { needs: need('evidence', 'evidence.reference') },
  perf_group_problems: { needs: none('no reading had a problem') },
  perf_group_coverage_ratio: { needs: none('each group is counted on all its CPUs') },
  perf_event_exporter_: { needs: exporter },
  perf_event_exporter_cgroup: { needs: ofScope },
  perf_event_exporter_series: { needs: ofScope },
  perf_event_exporter_switch_records: { needs: byRecords },
  perf_event_exporter_uncounted: { needs: ofScope },
  perf_event_exporter_unnamed: { needs: byRecords },
  perf_event_exporter_sum: { needs: sums },
  perf_event_exporter_http_errors: { needs: none('no client was refused') },
  perf_event_exporter_cgroups_left_out: { needs: none('no cgroup was left out') },
  perf_event_exporter_event_open_errors: { needs: none('no counter was refused') },
  perf_event_exporter_event_refusal_info: { needs: none('all configured events are counted, or a change would allow no other') },
  'perf_event_exporter_counting == 0': { needs: none('each exporter counts an event') },
  process_: { needs: exporter },
  scrape_: { needs: exporter },
  up: { needs: exporter },
};

local needsOf(metric) =
  local keys = [key for key in std.objectFields(table) if std.startsWith(metric, key)];
  local longest = std.foldl(function(a, b) if std.length(b) > std.length(a) then b else a, keys, '');
  local entry = if longest == '' then error 'lib/needs.libsonnet: no entry for ' + metric else table[longest];
  local rest = std.split(std.strReplace(metric[std.length(longest):], '_total', ''), ':')[0];
  local part = std.strReplace(std.strReplace(rest, '_observed', ''), '_variance', '');
  entry.needs +
  (if !std.objectHas(entry, 'rest') then []
   else if std.objectHas(entry.rest, part) then entry.rest[part]
   else error 'lib/needs.libsonnet: no event for ' + metric) +
  (if std.endsWith(rest, '_variance') then need('evidence', 'evidence.variance') else []);

local separators = { [c]: true for c in std.stringChars('(){}[],="~!+-*/<>|\n') };

// The names of metrics in a query, in its order. A query for values that are 0 is for problems.
local metricsOf(expr) =
  local words = std.split(std.join('', [
    if std.objectHas(separators, c) then ' ' else c
    for c in std.stringChars(std.strReplace(expr, '${sum}', 'sum'))
  ]), ' ');
  local isMetric(word) = word == 'up' || std.length(std.findSubstr(':', word)) > 0 ||
                         std.length([p for p in ['perf_', 'process_', 'scrape_'] if std.startsWith(word, p)]) > 0;
  local metrics = [word for word in words if isMetric(word)];
  local filter = if std.length(std.findSubstr(' == 0', expr)) > 0 then ' == 0' else '';
  if std.length(metrics) == 0 then error 'lib/needs.libsonnet: no metric in ' + expr else [m + filter for m in metrics];

// Of the queries of a panel. One with data is enough, so the first one decides.
function(queries)
  local all = [std.flattenArrays([needsOf(metric) for metric in metricsOf(expr)]) for expr in queries];
  local good = [each.none for each in all[0] if std.objectHas(each, 'none')];
  local found = [
    { see: k.see, text: std.join(', ', std.set([each.text for each in all[0] if each.kind == k.kind])) + std.get(k, 'suffix', '') }
    for k in kinds
    if std.length([each for each in all[0] if std.get(each, 'kind') == k.kind]) > 0
  ];
  // All, so that each query is looked up.
  assert std.length(std.toString(all)) > 0;
  if std.length(good) > 0 then good[0]
  else 'Needs %s: see %s' % [std.join(', ', [each.text for each in found]), found[0].see]
