"""Records as our decoder prints them (record_lines.h) against `perf report -D`: record by record, field
by field.
"""

import json

import perf_dump

PROT = {"r": 1, "w": 2, "x": 4}
MAP_SHARED = 1
ABSENT = {"cpu": 2**32 - 1, "time": 2**64 - 1}


def by_offset(lines):
    records = (json.loads(line) for line in lines.splitlines())
    return {record["offset"]: flattened(record) for record in records}


def flattened(record):
    """With what perf prints of several of our fields, or under another name."""
    if record.get("record") == "PERF_RECORD_MMAP2":
        record["rwx"] = "".join(letter if record["prot"] & bit else "-"
                                for letter, bit in PROT.items())
        record["shared"] = record["flags"] & MAP_SHARED != 0
    if record.get("record") == "PERF_RECORD_TEXT_POKE":
        record["old_new"] = record["old"] + record["new"]
    return record


def source_of_numbers(record):
    return record if record["record"] == "PERF_RECORD_SAMPLE" else record["sample_id"][0]


def numbers_of(record, columns):
    """CPU and time, as perf prints them before each record if any event has them."""
    source = source_of_numbers(record)
    return [source.get(key, ABSENT[key]) for key in columns]


def sizes_of_groups(decoded):
    return {len(record["counters"]) for record in decoded.values() if "counters" in record}


class RecordComparison:
    """Of a test."""

    def compare_records(self, ours, perfs, expected):
        """What both print of one file, which must have `expected` types of records. Returns ours."""
        decoded = by_offset(ours)
        printed = perf_dump.records(perfs)
        self.assertEqual([record for record in decoded.values() if "error" in record], [])
        self.assertEqual(set(decoded), set(printed))
        columns = [key for key in ABSENT
                   if any(key in source_of_numbers(record) for record in decoded.values())]
        for offset, fields in printed.items():
            self.compare_record(decoded[offset], fields, columns)
        self.assertLessEqual(set(expected), {record["record"] for record in decoded.values()})
        return decoded

    def compare_record(self, record, fields, columns):
        with self.subTest(record=record, perf=fields):
            self.assertEqual(numbers_of(record, columns), fields.pop("numbers"))
            for key, value in fields.items():
                if key not in record and fields["record"] == "PERF_RECORD_SAMPLE":
                    self.assertIn((key, value), (("addr", 0), ("ip", 0), ("period", value)))
                else:
                    self.assertEqual(record[key], value, key)
