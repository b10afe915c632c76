// Rules with a result for each container are split into parts of about the same size, which are short each.
// The label `part` of what they record keeps them apart. What reads it with {part="..."} selects few series,
// while a pattern for another label would cost Prometheus a look at all series with that label.
{
  number: 8,
  label(part):: { part: '%d' % part },
  recorded(part):: 'part="%d"' % part,
  all:: std.range(0, self.number - 1),

  // By the first digit of hexadecimal identifiers; the last part also has what is not one.
  ofIds(label, part):: label + ([
                                  '=~"[%s].*"' % digits
                                  for digits in ['01', '23', '45', '67', '89', 'ab', 'cd', '^0-9abcd']
                                ][part]),
  // The last part also has what has no identifier.
  ofIdsAndOthers(label, part):: if part < self.number - 1 then self.ofIds(label, part) else label + '!~"[0-9abcd].*"',
}
