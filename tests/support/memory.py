"""The peak memory of a program, for tests that start one."""

PEAK = '''
def peak():
    """Most bytes that this program has had in memory; ``ru_maxrss`` also counts those of the one that started it."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
'''
