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


def signed(text, bits=32):
    return int(text, 0) % (1 << bits)


def match(pattern, text):
    found = re.fullmatch(pattern, text)
    if found is None:
        raise AssertionError(f"perf printed '{text}', which is not as {pattern}")
    return found.groups()


def task(pid, tid):
    return {"pid": signed(pid), "tid": signed(tid)}


def page_size(text):
    """'4K', 'N/A'."""
    return 0 if text == "N/A" else int(text.rstrip("KMG")) * PAGE_SIZES[text.lstrip("0123456789")]


# Of the first line what follows the name, and the lines after it.

def mmap(rest, _):
    pid, tid, addr, length, pgoff, mode, name = match(
        r" (-?\d+)/(-?\d+): \[(\w+)\((\w+)\) @ (\w+)\]: ([rx]) (.*)", rest)
    return {**task(pid, tid), "addr": int(addr, 0), "len": int(length, 0), "pgoff": int(pgoff, 0),
            "is_data": mode == "r", "filename": name}


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


def comm(rest, _):
    by_exec, name, pid, tid = match(r"( exec)?: (.*):(-?\d+)/(-?\d+)", rest)
    return {**task(pid, tid), "exec": by_exec is not None, "comm": name}


def life(rest, _):
    pid, tid, ppid, ptid = match(r"\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)", rest)
    return {**task(pid, tid), "ppid": signed(ppid), "ptid": signed(ptid)}


def lost(rest, _):
    event_id, count = match(r": id:(\d+): lost:(\d+)", rest)
    return {"id": int(event_id), "lost": int(count)}


def lost_samples(rest, _):
    (count,) = match(r"(?:: id:\d+)?: lost samples ?:(\d+)", rest)
    return {"lost": int(count)}


def nothing(rest, _):
    match(r"(: unhandled!)?\s*", rest)  # by perf 6.1
    return {}


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


def switch(rest, _):
    direction, preempt = match(r" (IN|OUT)( preempt)?\s*", rest)
    return {"out": direction == "OUT", "preempt": preempt is not None}


def switch_cpu_wide(rest, _):
    direction, preempt, which, pid, tid = match(
        r" (IN|OUT)( preempt)?\s+(next|prev) pid/tid:\s*(-?\d+)/(-?\d+)\s*", rest)
    assert (which == "next") == (direction == "OUT")
    return {**task(pid, tid), "out": direction == "OUT", "preempt": preempt is not None}


def namespaces(rest, lines):
    pid, tid, count = match(r" (-?\d+)/(-?\d+) - nr_namespaces: (\d+)", rest)
    links = re.findall(r"\d+/\w+: (\w+)/(\w+)", " ".join(lines))
    assert len(links) == int(count)
    return {**task(pid, tid),
            "links": [{"dev": int(dev, 0), "ino": int(ino, 0)} for dev, ino in links]}


def cgroup(rest, _):
    number, path = match(r" cgroup: (\d+) (.*)", rest)
    return {"cgroup": int(number), "path": path}


def ksymbol(rest, _):
    addr, length, kind, flags, name = match(
        r" addr (\w+) len (\d+) type (\d+) flags (\w+) name (.*)", rest)
    return {"addr": int(addr, 16), "len": int(length), "type": int(kind), "flags": int(flags, 0),
            "name": name}


def bpf_event(rest, _):
    kind, flags, number = match(r" type (\d+), flags (\d+), id (\d+)", rest)
    return {"type": int(kind), "flags": int(flags), "id": int(number)}


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
    elif found := re.fullmatch(r"\.\.\. ustack: size (\d+), offset \w+", line):
        fields["dyn_size"] = int(found[1])
    elif found := re.fullmatch(r"\.\.\. weight: (\d+),0x(\w+),0x(\w+)", line):
        fields |= {"var1": int(found[1]), "var2": int(found[2], 16), "var3": int(found[3], 16)}
    elif found := re.fullmatch(r"\.\.\. weight: (\d+)", line):
        fields["weight"] = int(found[1])
    elif found := re.fullmatch(r"\. data_src: (\w+)", line):
        fields["data_src"] = int(found[1], 0)
    elif found := re.fullmatch(r"\.\. phys_addr: (\w+)", line):
        fields["phys_addr"] = int(found[1], 0)
    elif found := re.fullmatch(r"\.\. (data|code) page size: (\S+)", line):
        fields[f"{found[1]}_page_size"] = page_size(found[2])
    elif found := re.fullmatch(r"\.\.\. transaction: (\w+)", line):
        fields["transaction"] = int(found[1], 16)
    elif re.fullmatch(r"\.\.\. sample_read:|\.{4} group nr \d+", line):
        return fields.setdefault("counters", [])
    elif found := re.fullmatch(r"\.+ time (enabled|running) (\w{16})", line):
        fields[f"time_{found[1]}"] = int(found[2], 16)
    elif found := re.fullmatch(r"\.{5} id (\w{16}), value (\w{16})(?:, lost (\d+))?", line):
        counter = {"id": int(found[1], 16), "value": int(found[2], 16)}
        into.append(counter if found[3] is None else {**counter, "lost": int(found[3])})
    elif re.match(r"\.+ (thread|dso)", line):
        pass
    else:
        raise AssertionError(f"perf printed '{line}' of a sample")
    return into


PARSERS = {"MMAP": mmap, "MMAP2": mmap2, "COMM": comm, "EXIT": life, "FORK": life, "LOST": lost,
           "LOST_SAMPLES": lost_samples, "THROTTLE": nothing, "UNTHROTTLE": nothing, "READ": read,
           "SWITCH": switch, "SWITCH_CPU_WIDE": switch_cpu_wide, "NAMESPACES": namespaces,
           "CGROUP": cgroup, "KSYMBOL": ksymbol, "BPF_EVENT": bpf_event, "TEXT_POKE": text_poke,
           "SAMPLE": sample}


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
        fields = PARSERS[name](rest, following(lines, at + 1))
        assert int(offset, 0) not in found, f"perf printed the record at {offset} twice"
        found[int(offset, 0)] = {"record": f"PERF_RECORD_{name}", "size": int(size, 16),
                                 "numbers": [int(number) for number in numbers.split()], **fields}
    return found
