"""Stops one thread of another process until that ends, and nothing else of it: `hold_thread.py TID`.

Prints a line once the thread stands still. As it is our tracee, its end has to be awaited here: before
that, its process is not gone either.
"""

import ctypes
import os
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000  # __WALL: also threads

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid):
    if libc.ptrace(request, tid, None, None) != 0:
        sys.exit(f"ptrace of thread {tid}: {os.strerror(ctypes.get_errno())}")


def main():
    tid = int(sys.argv[1])
    ptrace(PTRACE_SEIZE, tid)
    ptrace(PTRACE_INTERRUPT, tid)
    _, status = os.waitpid(tid, WALL)
    while os.WIFSTOPPED(status):
        print("stopped", flush=True)
        _, status = os.waitpid(tid, WALL)


main()
