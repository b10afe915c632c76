// A file of rules as one would write it: std.manifestYamlDoc takes a minute for it, and sorts the keys.
local quoted = std.escapeStringJson;

// Lines of an expression, further in than their key.
local block(indent, text) =
  '|\n' + std.join('', ['%s%s\n' % [indent, line] for line in std.split(std.rstripChars(text, '\n'), '\n')]);

local map(indent, key, values) =
  if std.length(values) == 0 then '' else
    '%s%s:\n' % [indent, key] +
    std.join('', ['%s  %s: %s\n' % [indent, name, quoted(values[name])] for name in std.objectFields(values)]);

local rule(r) =
  local kind = if std.objectHas(r, 'alert') then 'alert' else 'record';
  '      - %s: %s\n' % [kind, quoted(r[kind])] +
  '        expr: ' + block('          ', r.expr) +
  (if std.objectHas(r, 'for') then '        for: %s\n' % r['for'] else '') +
  map('        ', 'labels', std.get(r, 'labels', {})) +
  map('        ', 'annotations', std.get(r, 'annotations', {}));

local group(g) =
  '  - name: %s\n' % quoted(g.name) +
  (if std.objectHas(g, 'interval') then '    interval: %s\n' % g.interval else '') +
  '    rules:\n' + std.join('', [rule(r) for r in g.rules]);

function(rules)
  '# Generated from packaging/mixin by its generate.sh: change it there.\ngroups:\n' +
  std.join('', [group(g) for g in rules.groups])
