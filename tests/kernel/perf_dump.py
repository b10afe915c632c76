"""`perf report -D` as records: {offset in the file: fields of the record}.

Only what perf prints, and only of records of the kernel. Numbers are unsigned as in the record.
"""

import re

FIRST_LINE = re.compile(
    r"^((?:-?\d+ )*)(0x[0-9a-f]+) \[0x([0-9a-f]+)\]: PERF_RECORD_([A-Z0-9_]+)(.*)$")
# Its own record types, which begin with 64.
OF_PERF = re.compile(r"ID_INDEX|EVENT_UPDATE|THREAD_MAP|CPU_MAP|FINISHED_\w+|TIME_CONV|HEADER_\w+|"
                     r"AUXTRACE\w*|STAT\w*|COMPRESSED\w*|FEATURE|BPF_METADATA|SCHEDSTAT\w*")
PAGE_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def unsigned(text):
    """Of a number of 32 bits that is printed with a sign."""
    return int(text) % (1 << 32)


def prefixed(text):
    return int(text, 0)


def hexadecimal(text):
    return int(text, 16)


def match(pattern, text):
    found = re.fullmatch(pattern, text)
    if found is None:
        raise AssertionError(f"perf printed '{text}', which is not as {pattern}")
    return found.groups()


def fields_of(pattern, text, **converters):
    """The groups of the pattern, by name."""
    return {name: convert(group) for (name, convert), group in zip(converters.items(), match(pattern, text))}


def task(pid, tid):
    return {"pid": unsigned(pid), "tid": unsigned(tid)}


def page_size(text):
    """'4K', 'N/A'."""
    return 0 if text == "N/A" else int(text.rstrip("KMG")) * PAGE_SIZES[text.lstrip("0123456789")]


TASK = {"pid": unsigned, "tid": unsigned}
DIRECTION = {"out": lambda direction: direction == "OUT", "preempt": bool}
LIFE = (r"\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)", {**TASK, "ppid": unsigned, "ptid": unsigned})
NOTHING = (r"(?:: unhandled!)?\s*", {})  # by perf 6.1
# Of records of one line: what follows the name, and its fields.
LINES = {
    "MMAP": (r" (-?\d+)/(-?\d+): \[(\w+)\((\w+)\) @ (\w+)\]: ([rx]) (.*)",
             {**TASK, "addr": prefixed, "len": prefixed, "pgoff": prefixed,
              "is_data": lambda mode: mode == "r", "filename": str}),
    "COMM": (r"( exec)?: (.*):(-?\d+)/(-?\d+)", {"exec": bool, "comm": str, **TASK}),
    "EXIT": LIFE,
    "FORK": LIFE,
    "LOST": (r": id:(\d+): lost:(\d+)", {"id": int, "lost": int}),
    "LOST_SAMPLES": (r"(?:: id:\d+)?: lost samples ?:(\d+)", {"lost": int}),
    "THROTTLE": NOTHING,
    "UNTHROTTLE": NOTHING,
    "SWITCH": (r" (IN|OUT)( preempt)?\s*", DIRECTION),
    "SWITCH_CPU_WIDE": (r" ((?=IN.* prev|OUT.* next)IN|OUT)( preempt)?\s+\w+ pid/tid:\s*(-?\d+)/(-?\d+)\s*",
                        {**DIRECTION, **TASK}),
    "CGROUP": (r" cgroup: (\d+) (.*)", {"cgroup": int, "path": str}),
    "KSYMBOL": (r" addr (\w+) len (\d+) type (\d+) flags (\w+) name (.*)",
                {"addr": hexadecimal, "len": int, "type": int, "flags": prefixed, "name": str}),
    "BPF_EVENT": (r" type (\d+), flags (\d+), id (\d+)", {"type": int, "flags": int, "id": int}),
}

# Of a sample, lines that stand by themselves.
LINES_OF_SAMPLES = [
    (r"\.\.\. ustack: size (\d+), offset \w+", {"dyn_size": int}),
    (r"\.\.\. weight: (\d+),0x(\w+),0x(\w+)", {"var1": int, "var2": hexadecimal, "var3": hexadecimal}),
    (r"\.\.\. weight: (\d+)", {"weight": int}),
    (r"\. data_src: (\w+)", {"data_src": prefixed}),
    (r"\.\. phys_addr: (\w+)", {"phys_addr": prefixed}),
    (r"\.\. data page size: (\S+)", {"data_page_size": page_size}),
    (r"\.\. code page size: (\S+)", {"code_page_size": page_size}),
    (r"\.\.\. transaction: (\w+)", {"transaction": hexadecimal}),
    (r"\.+ time enabled (\w{16})", {"time_enabled": hexadecimal}),
    (r"\.+ time running (\w{16})", {"time_running": hexadecimal}),
    (r"\.+ (?:thread|dso).*", {}),
]


# Of records of several lines: of the first one what follows the name, and the lines after it.

def mmap2(rest, _):
    pid, tid, addr, length, pgoff, file, build_id, prot, name = match(
        r" (-?\d+)/(-?\d+): \[(\w+)\((\w+)\) @ (\w+) (?:(\w+:\w+ \d+ \d+)|<(\w*)>)\]: (\S{4}) (.*)",
        rest)
    fields = {**task(pid, tid), "addr": int(addr, 0), "len": int(length, 0), "pgoff": int(pgoff, 0),
              "filename": name, "rwx": prot[:3], "shared": prot[3] == "s"}
    if file is None:
        return {**fields, "build_id": build_id}
    major, minor, ino, generation = match(r"(\w+):(\w+) (\d+) (\d+)", file)
    return {**fields, "maj": int(major, 16), "min": int(minor, 16), "ino": int(ino),
            "ino_generation": int(generation)}


def read(rest, lines):
    pid, tid, value = match(r": (-?\d+) (-?\d+) .* (\d+)", rest)
    counter = {"value": int(value)}
    fields = {**task(pid, tid), "counters": [counter]}
    for line in lines:
        name, number = match(r"\.\.\. (time enabled|time running|id|lost) *: (\d+)", line)
        if name.startswith("time"):
            fields[name.replace(" ", "_")] = int(number)
        else:
            counter[name] = int(number)
    return fields


def namespaces(rest, lines):
    pid, tid, count = match(r" (-?\d+)/(-?\d+) - nr_namespaces: (\d+)", rest)
    links = re.findall(r"\d+/\w+: (\w+)/(\w+)", " ".join(lines))
    assert len(links) == int(count)
    return {**task(pid, tid),
            "links": [{"dev": int(dev, 0), "ino": int(ino, 0)} for dev, ino in links]}


def text_poke(rest, lines):
    addr, old, new = match(r"\s+addr (\w+) old len (\d+) new len (\d+)", rest)
    dumped = "".join(re.sub(r"^.*?\w{4}: |\s", "", line[:60]) for line in lines)
    return {"addr": int(addr, 16), "old_new": dumped[:2 * (int(old) + int(new))]}


def sample(rest, lines):
    misc, pid, tid, ip, period, addr = match(
        r"\(\w+, (\w+)\): (-?\d+)/(-?\d+): (\w+) period: (\d+) addr: (\w+)", rest)
    fields = {"misc": int(misc, 0), **task(pid, tid), "ip": int(ip, 0), "period": int(period),
              "addr": int(addr, 0)}
    into = None  # of a line that begins with another word
    for line in map(str.strip, lines):
        into = sample_line(line, fields, into)
    return fields


def sample_line(line, fields, into):
    """Adds what a line has to `fields`. Returns the list that the next lines add to."""
    if found := re.fullmatch(r"\.\.\. \w+ chain: nr:(\d+)", line):
        return fields.setdefault("callchain", [])
    if found := re.fullmatch(r"\.{5} +\d+: (\w{16})", line):
        into.append(int(found[1], 16))
    elif found := re.fullmatch(r"\.\.\. (user|intr) regs: mask (\w+) ABI (.*)", line):
        fields[f"{found[1]}_regs_mask"] = int(found[2], 0)
        fields[f"{found[1]}_regs_abi"] = {"64-bit": 2, "32-bit": 1, "none": 0}[found[3]]
        return fields.setdefault(f"{found[1]}_regs", [])
    elif found := re.fullmatch(r"\.{4} (\w+) +(0x\w{16})", line):
        into.append(int(found[2], 0))
    elif re.fullmatch(r"\.\.\. sample_read:|\.{4} group nr \d+", line):
        return fields.setdefault("counters", [])
    elif found := re.fullmatch(r"\.{5} id (\w{16}), value (\w{16})(?:, lost (\d+))?", line):
        counter = {"id": int(found[1], 16), "value": int(found[2], 16)}
        into.append(counter if found[3] is None else {**counter, "lost": int(found[3])})
    else:
        pattern, converters = next((row for row in LINES_OF_SAMPLES if re.fullmatch(row[0], line)), (None, {}))
        if pattern is None:
            raise AssertionError(f"perf printed '{line}' of a sample")
        fields |= fields_of(pattern, line, **converters)
    return into


PARSERS = {"MMAP2": mmap2, "READ": read, "NAMESPACES": namespaces, "TEXT_POKE": text_poke, "SAMPLE": sample}


def parsed(name, rest, lines):
    if name in LINES:
        pattern, converters = LINES[name]
        return fields_of(pattern, rest, **converters)
    return PARSERS[name](rest, lines)


def following(lines, at):
    """The lines up to the next empty one."""
    end = at
    while end < len(lines) and lines[end].strip():
        end += 1
    return lines[at:end]


def records(dump):
    """Each record has its name, size and `numbers`: CPU and time, as far as its event has them."""
    found = {}
    lines = dump.splitlines()
    for at, line in enumerate(lines):
        first = FIRST_LINE.match(line)
        if first is None or OF_PERF.fullmatch(first[4]):
            continue
        numbers, offset, size, name, rest = first.groups()
        fields = parsed(name, rest, following(lines, at + 1))
        assert int(offset, 0) not in found, f"perf printed the record at {offset} twice"
        found[int(offset, 0)] = {"record": f"PERF_RECORD_{name}", "size": int(size, 16),
                                 "numbers": [int(number) for number in numbers.split()], **fields}
    return found
