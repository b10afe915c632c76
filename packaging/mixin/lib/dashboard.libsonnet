// What the dashboards are made of: Grafana's classic model, as far as we need it.
local noValue = import 'needs.libsonnet';

local datasource = { type: 'prometheus', uid: '${datasource}' };

// --- queries --------------------------------------------------------------------------------------

// `needs`: the part without which there is no data.
local query(expr, legend='', instant=false, needs=expr) = {
  needs:: needs,
  datasource: datasource,
  expr: std.rstripChars(expr, '\n'),
  legendFormat: legend,
  instant: instant,
  range: !instant,
  format: if instant then 'table' else 'time_series',
  editorMode: 'code',
};

local withLetters(queries) = std.mapWithIndex(
  function(i, q) q { refId: std.char(65 + i) }, queries
);

// --- panels ---------------------------------------------------------------------------------------

// Steps of colours: [{ value: null, color: 'green' }, ...]. Without: one colour.
local thresholds(steps) = {
  mode: 'absolute',
  steps: if std.length(steps) > 0 then steps else [{ value: null, color: 'green' }],
};
local above(warning, critical=null) = thresholds(
  [{ value: null, color: 'green' }, { value: warning, color: 'yellow' }] +
  (if critical == null then [] else [{ value: critical, color: 'red' }])
);
local below(warning, critical) = thresholds([
  { value: null, color: 'red' },
  { value: critical, color: 'yellow' },
  { value: warning, color: 'green' },
]);

local panel(type, title, description, unit, queries, width) = {
  type: type,
  title: title,
  description: description,
  datasource: datasource,
  targets: withLetters(queries),
  fieldConfig: {
    defaults: { unit: unit, thresholds: thresholds([]), noValue: noValue([q.needs for q in queries]) },
    // Only for a panel without data: not for an empty cell, or a series with a gap below the cursor.
    overrides: [{ matcher: { id: 'byRegexp', options: '/.*/' }, properties: [{ id: 'noValue', value: null }] }],
  },
  gridPos: { w: width },
};

// From what is shown of a machine to its other dashboards; `instance` is what Grafana puts in its place.
local links(instance) = [
  {
    title: '%s of this machine' % target.title,
    url: '/d/%s?${datasource:queryparam}&${cluster:queryparam}&${job:queryparam}&var-instance=%s&${__url_time_range}' %
         [target.uid, instance],
    targetBlank: false,
  }
  for target in [
    { title: 'Node', uid: 'perf-event-exporter-node' },
    { title: 'Services and containers', uid: 'perf-event-exporter-cgroups' },
  ]
];
local isOfMachines(queries) =
  std.length([q for q in queries if std.length(std.findSubstr('{{instance}}', q.legendFormat)) > 0]) > 0;

// Of the machine or of a few series: the legend below. Of many: a table at the right.
local timeSeries(title,
                 description,
                 unit,
                 queries,
                 width=8,
                 min=0,
                 max=null,
                 stacked=false,
                 many=false,
                 limits=null) =
  panel('timeseries', title, description, unit, queries, width) {
    fieldConfig+: {
      defaults+: {
        [if min != null then 'min']: min,
        [if max != null then 'max']: max,
        [if limits != null then 'thresholds']: limits,
        [if isOfMachines(queries) then 'links']: links('${__field.labels.instance}'),
        custom: {
          drawStyle: 'line',
          lineWidth: 1,
          fillOpacity: if stacked then 40 else 10,
          showPoints: 'never',
          spanNulls: false,
          stacking: { mode: if stacked then 'normal' else 'none', group: 'A' },
          thresholdsStyle: { mode: if limits == null then 'off' else 'line' },
        },
      },
    },
    options: {
      legend: if many
      then { showLegend: true, displayMode: 'table', placement: 'right', calcs: ['mean', 'lastNotNull'], sortBy: 'Mean', sortDesc: true, width: 360 }
      else { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };

// One number, with its past behind it.
local stat(title, description, unit, queries, width=4, limits=null, decimals=null) =
  panel('stat', title, description, unit, queries, width) {
    fieldConfig+: { defaults+: {
      [if decimals != null then 'decimals']: decimals,
      [if limits != null then 'thresholds']: limits,
    } },
    options: {
      reduceOptions: { values: false, calcs: ['lastNotNull'], fields: '' },
      colorMode: if limits == null then 'none' else 'value',
      graphMode: 'area',
      justifyMode: 'auto',
      orientation: 'auto',
      textMode: 'auto',
    },
  };

// A row for each series, a cell for each moment.
local history(title, description, unit, queries, width=24, min=0, max=null) =
  panel('status-history', title, description, unit, queries, width) {
    maxDataPoints: 120,
    fieldConfig+: { defaults+: {
      [if min != null then 'min']: min,
      [if max != null then 'max']: max,
      color: { mode: 'continuous-BlYlRd' },
      custom: { fillOpacity: 90, lineWidth: 0 },
    } },
    options: {
      showValue: 'never',
      rowHeight: 0.9,
      legend: { showLegend: false, displayMode: 'list', placement: 'bottom', calcs: [] },
      tooltip: { mode: 'single', sort: 'none' },
    },
  };

// How many series have which value, over time: for more series than lines can show.
local heatmap(title, description, unit, queries, width=24) =
  panel('heatmap', title, description, unit, queries, width) {
    options: {
      calculate: true,
      calculation: { yBuckets: { mode: 'count', value: '20' } },
      color: { mode: 'scheme', scheme: 'Blues', exponent: 0.5, fill: 'dark-blue', reverse: false, steps: 64 },
      cellGap: 1,
      exemplars: { color: 'rgba(255,0,255,0.7)' },
      filterValues: { le: 1e-9 },
      legend: { show: true },
      showValue: 'never',
      tooltip: { mode: 'single', yHistogram: true },
      yAxis: { axisPlacement: 'left', unit: unit, min: 0 },
      rowsFrame: { layout: 'auto' },
    },
  };

// Columns are given by query: { query, name, unit }, where `query` has one value for each row, and the
// rows are put together by the labels in `rows`.
local table(title, description, columns, rows, width=24, hidden=[]) =
  local letters = std.mapWithIndex(function(i, _) std.char(65 + i), columns);
  local valueOf(i) = if std.length(columns) == 1 then 'Value' else 'Value #' + letters[i];
  panel('table', title, description, 'short', [query(c.query, instant=true) for c in columns], width) {
    fieldConfig+: {
      defaults+: { custom: { align: 'auto', filterable: true } },
      overrides+: std.mapWithIndex(function(i, c) {
        matcher: { id: 'byName', options: c.name },
        properties: [{ id: 'unit', value: c.unit }] + std.get(c, 'properties', []),
      }, columns) + [
        {
          matcher: { id: 'byName', options: row },
          properties: [{ id: 'links', value: links('${__value.text}') }],
        }
        for row in rows
        if row == 'instance'
      ],
    },
    options: {
      showHeader: true,
      cellHeight: 'sm',
      [if std.length(columns) > 0 then 'sortBy']: [{ displayName: columns[0].name, desc: true }],
    },
    transformations: (
      if std.length(columns) > 1 then [{ id: 'merge', options: {} }] else []
    ) + [
      {
        id: 'organize',
        options: {
          excludeByName: { [name]: true for name in ['Time'] + hidden },
          indexByName: { [rows[i]]: i for i in std.range(0, std.length(rows) - 1) } +
                       { [valueOf(i)]: 100 + i for i in std.range(0, std.length(columns) - 1) },
          renameByName: { [valueOf(i)]: columns[i].name for i in std.range(0, std.length(columns) - 1) },
        },
      },
    ],
  };

// --- variables ------------------------------------------------------------------------------------

local datasourceVariable = {
  type: 'datasource',
  name: 'datasource',
  label: 'Data source',
  query: 'prometheus',
  regex: '',
  refresh: 1,
  hide: 0,
  includeAll: false,
  multi: false,
  options: [],
  skipUrlSync: false,
};

local labelValues(name, label, series, of) =
  {
    type: 'query',
    name: name,
    label: label,
    datasource: datasource,
    query: { query: 'label_values(%s, %s)' % [series, of], refId: 'Variable-' + name },
    regex: '',
    refresh: 2,
    sort: 1,
    hide: 0,
    includeAll: true,
    allValue: '.*',
    multi: true,
    options: [],
    current: { selected: true, text: ['All'], value: ['$__all'] },
    skipUrlSync: false,
  };

// One to begin with, the first one, and no "All": of thousands of machines, that takes minutes.
local firstOf(variable) = variable { includeAll: false, current:: null, allValue:: null };
// One at a time.
local oneLabelValue(name, label, series, of) = firstOf(labelValues(name, label, series, of)) { multi: false };

local choice(name, label, values, description='') = {
  type: 'custom',
  name: name,
  label: label,
  description: description,
  query: std.join(',', values),
  options: [{ selected: v == values[0], text: v, value: v } for v in values],
  current: { selected: true, text: values[0], value: values[0] },
  hide: 0,
  includeAll: false,
  multi: false,
  skipUrlSync: false,
};

local typed(name, label, value, description='') = {
  type: 'textbox',
  name: name,
  label: label,
  description: description,
  query: value,
  options: [{ selected: true, text: value, value: value }],
  current: { selected: true, text: value, value: value },
  hide: 0,
  skipUrlSync: false,
};

// --- layout ---------------------------------------------------------------------------------------

// Panels from left to right, in lines of 24 units.
local placed(panels, height, top) = std.foldl(
  function(state, p)
    local wraps = state.x + p.gridPos.w > 24;
    local x = if wraps then 0 else state.x;
    local y = if wraps then state.y + height else state.y;
    { x: x + p.gridPos.w, y: y, done: state.done + [p { gridPos: { h: height, w: p.gridPos.w, x: x, y: y } }] },
  panels,
  { x: 0, y: top, done: [] }
);

// Only rows that are open are queried.
local row(title, height, panels, open=false) = { title: title, height: height, panels: panels, open: open };

local laidOut(rows) = std.foldl(
  function(state, r)
    local body = placed(r.panels, r.height, state.y + 1);
    local header = {
      type: 'row',
      title: r.title,
      collapsed: !r.open,
      panels: if r.open then [] else body.done,
      gridPos: { h: 1, w: 24, x: 0, y: state.y },
    };
    {
      y: if r.open then body.y + r.height else state.y + 1,
      panels: state.panels + [header] + if r.open then body.done else [],
    },
  rows,
  { y: 0, panels: [] }
).panels;

// The panels of row 3 are 301, 302, ...
local numbered(panels) = std.mapWithIndex(
  function(i, p) p {
    id: i + 1,
    [if p.type == 'row' then 'panels']: std.mapWithIndex(function(k, q) q { id: 100 * (i + 1) + k + 1 }, p.panels),
  },
  panels
);

// --- annotations ----------------------------------------------------------------------------------

local annotation(name, color, expr, title, text, isTime=false, enable=true) = {
  name: name,
  datasource: datasource,
  enable: enable,
  iconColor: color,
  expr: expr,
  titleFormat: title,
  textFormat: text,
  step: '60s',
  useValueForTime: isTime,
};
local annotations(selected) = [
  {
    builtIn: 1,
    datasource: { type: 'grafana', uid: '-- Grafana --' },
    enable: true,
    hide: true,
    iconColor: 'rgba(0, 211, 255, 1)',
    name: 'Annotations & Alerts',
    type: 'dashboard',
  },
  annotation('Alerts',
             'orange',
             'ALERTS{%s, alertname=~"Perf.+", alertstate="firing"}' % selected,
             '{{alertname}}',
             '{{instance}} {{namespace}} {{pod}} {{cgroup}}'),
  annotation('Exporter started',
             'blue',
             '1000 * process_start_time_seconds{%s}' % selected,
             'perf_event_exporter started',
             '{{instance}}',
             isTime=true),
  annotation('Configuration loaded',
             'purple',
             '1000 * perf_event_exporter_config_last_reload_success_timestamp_seconds{%s}' % selected,
             'perf_event_exporter loaded its configuration',
             '{{instance}}',
             isTime=true,
             enable=false),
];

local dashboard(config, uid, title, description, variables, rows, selected) = {
  uid: uid,
  title: title,
  description: description,
  tags: [config.dashboardTag],
  schemaVersion: 39,
  version: 1,
  editable: true,
  graphTooltip: 1,
  timezone: 'browser',
  time: { from: config.dashboardFrom, to: 'now' },
  timepicker: {},
  refresh: config.dashboardRefresh,
  fiscalYearStartMonth: 0,
  weekStart: '',
  links: [{
    type: 'dashboards',
    title: 'perf_event_exporter',
    tags: [config.dashboardTag],
    asDropdown: false,
    includeVars: true,
    keepTime: true,
    targetBlank: false,
    icon: 'external link',
    tooltip: '',
    url: '',
  }],
  annotations: { list: annotations(selected) },
  templating: { list: [datasourceVariable] + variables },
  panels: numbered(laidOut(rows)),
};

// Of an exporter whose events are all counted: 0, of one that is not there: nothing.
local counting(selector) = 'perf_event_exporter_counting{%s}' % selector;
local refusedEvents(sum, selector) =
  '%s (perf_event_exporter_event_refusal_info{%s} or 0 * %s)' % [sum, selector, counting(selector)];

local ofFleet = 'cluster=~"$cluster", job=~"$job"';
// In every scrape: several jobs may scrape different groups of one exporter.
local exporters(selector) = 'perf_event_exporter_build_info{%s}' % selector;
// All jobs are those of the exporter, and not '.*': `up` and the metrics of a process are of others too.
local clusterAndJob = [
  labelValues('cluster', 'Cluster', exporters(''), 'cluster'),
  labelValues('job', 'Job', exporters('cluster=~"$cluster"'), 'job') { allValue:: null },
];
local selected = ofFleet + ', instance=~"$instance"';

{
  query:: query,
  above:: above,
  below:: below,
  timeSeries:: timeSeries,
  stat:: stat,
  history:: history,
  heatmap:: heatmap,
  table:: table,
  counting:: counting,
  refusedEvents:: refusedEvents,
  labelValues:: labelValues,
  oneLabelValue:: oneLabelValue,
  choice:: choice,
  typed:: typed,
  row:: row,

  // Which exporters; every query has it.
  selected:: selected,
  dashboard(config, uid, title, description, variables, rows)::
    dashboard(config, uid, title, description, clusterAndJob + [
      firstOf(labelValues('instance', 'Instance', exporters(ofFleet), 'instance')),
    ] + variables, rows, selected),

  // The same for all machines.
  ofFleet:: ofFleet,
  fleetDashboard(config, uid, title, description, variables, rows)::
    dashboard(config, uid, title, description, clusterAndJob + variables, rows, ofFleet),
}
