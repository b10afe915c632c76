// Rules with a result for each container are split into parts of about the same size, which are short each.
// The label `part` of what they record keeps them apart. What reads it with {part="..."} selects few series,
// while a pattern for another label would cost Prometheus a look at all series with that label.
{
  number: 4,
  label(part):: { part: '%d' % part },
  recorded(part):: 'part="%d"' % part,
  all:: std.range(0, self.number - 1),

  // By the first digit of hexadecimal identifiers; the last part also has what is not one.
  ofIds(label, part):: label + ['=~"[0-3].*"', '=~"[4-7].*"', '=~"[89ab].*"', '=~"[^0-9ab].*"'][part],
  // The last part also has what has no identifier.
  ofIdsAndOthers(label, part):: if part < self.number - 1 then self.ofIds(label, part) else label + '!~"[0-9ab].*"',
}
