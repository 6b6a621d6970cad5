# SPDX-License-Identifier: BSD-2-Clause
"""The errors that each system call can return, except those for invalid arguments. brk returns an address, never an error.
close fails for output files only, as on NFS; an injected close leaves the file open, which the kernel does not do."""

DESCRIPTORS = ('EMFILE', 'ENFILE', 'ENOMEM')
PATHS = ('ENOENT', 'EACCES')

ERRORS = {
    # ESRCH: a file of a process that has ended.
    'openat': (*PATHS, 'EMFILE', 'ESRCH', 'EINTR'), 'read': ('EIO', 'EINTR', 'ESRCH'), 'pread64': ('EIO', 'EINTR'), 'readv': ('EIO',),
    'close': ('EIO', 'ENOSPC', 'EDQUOT', 'EINTR'),
    'write': ('ENOSPC', 'EIO', 'EINTR'), 'writev': ('ENOSPC', 'EIO'), 'pwrite64': ('ENOSPC', 'EIO'),
    'mmap': ('ENOMEM',), 'mremap': ('ENOMEM',), 'mprotect': ('ENOMEM',), 'munmap': ('ENOMEM',),
    'madvise': ('EINVAL',), 'bpf': ('EPERM', 'EINVAL', 'ENOMEM', 'EMFILE'),
    'perf_event_open': ('EACCES', 'EMFILE'), 'clone': ('EAGAIN', 'ENOMEM'), 'clone3': ('EAGAIN', 'ENOMEM'),
    'timer_create': ('EAGAIN', 'ENOMEM'), 'vfork': ('EAGAIN',), 'fork': ('EAGAIN',),
    'execve': (*PATHS, 'ENOMEM'), 'wait4': ('ECHILD', 'EINTR'),
    'poll': ('EINTR', 'ENOMEM'), 'ppoll': ('EINTR', 'ENOMEM'), 'select': ('EINTR', 'ENOMEM'),
    'epoll_create1': DESCRIPTORS, 'epoll_ctl': ('ENOMEM', 'ENOSPC'), 'epoll_wait': ('EINTR',), 'epoll_pwait': ('EINTR',),
    'pidfd_open': ('EMFILE', 'ENOSYS'), 'signalfd4': DESCRIPTORS, 'eventfd2': DESCRIPTORS, 'pipe2': DESCRIPTORS,
    'socketpair': DESCRIPTORS, 'socket': DESCRIPTORS, 'connect': ('ECONNREFUSED', 'ENOENT'),
    'sendto': ('EPIPE', 'EINTR'), 'recvfrom': ('ECONNRESET', 'EINTR'), 'dup': ('EMFILE',), 'dup2': ('EMFILE', 'EBUSY'),
    'fcntl': ('EMFILE', 'EINVAL'), 'ioctl': ('ENOTTY', 'EIO'), 'lseek': ('ESPIPE',), 'fstat': ('ENOMEM', 'EIO'),
    'newfstatat': PATHS, 'statx': PATHS, 'statfs': PATHS, 'fstatfs': ('EIO',), 'access': PATHS, 'faccessat': PATHS,
    'faccessat2': PATHS, 'readlink': PATHS, 'readlinkat': PATHS, 'getdents64': ('EIO', 'ENOENT'), 'ftruncate': ('EIO',),
    'fallocate': ('ENOSPC',), 'fsync': ('EIO',), 'fdatasync': ('EIO', 'ENOSPC'), 'rename': ('EACCES', 'ENOSPC'),
    'unlink': ('EACCES', 'ENOENT'), 'fchmod': ('EPERM',), 'fchown': ('EPERM',), 'mkdir': ('EACCES',),
    'kill': ('EPERM', 'ESRCH'), 'tgkill': ('EPERM',), 'prctl': ('EPERM', 'EINVAL'), 'capset': ('EPERM',),
    'capget': ('EPERM',), 'setpriority': ('EACCES',), 'getpriority': ('ESRCH',), 'prlimit64': ('EPERM',),
    'getrandom': ('EAGAIN', 'ENOSYS'), 'clock_nanosleep': ('EINTR',), 'unshare': ('EPERM', 'EINVAL'), 'flock': ('EWOULDBLOCK',),
    'accept4': ('EMFILE', 'ECONNABORTED'), 'bind': ('EADDRINUSE', 'EACCES'), 'listen': ('EADDRINUSE',),
    'setsockopt': ('ENOPROTOOPT', 'EPERM'), 'getsockname': ('ENOBUFS',), 'recvmsg': ('ECONNRESET',), 'sendmsg': ('EPIPE', 'EINTR'), 'getsockopt': ('ENOPROTOOPT',),
    'memfd_create': ('EMFILE', 'ENOMEM'), 'shutdown': ('ENOTCONN',),
    'mount': ('EPERM', 'ENOMEM'), 'umount2': ('EBUSY', 'EPERM'), 'fsopen': ('EPERM', 'ENODEV'), 'fsconfig': ('EINVAL', 'EPERM'),
    'fsmount': ('EPERM', 'ENOMEM'), 'move_mount': ('EBUSY', 'EPERM'), 'open_tree': ('EPERM', 'ENOENT'), 'mount_setattr': ('EPERM',),
    'chmod': ('EPERM',), 'fchmodat': ('EPERM',), 'chown': ('EPERM',), 'fchownat': ('EPERM',), 'rmdir': ('EBUSY', 'ENOENT'),
    'chdir': PATHS, 'fchdir': ('EACCES',), 'getcwd': ('ENOENT',), 'link': ('EPERM', 'EEXIST'), 'linkat': ('EPERM', 'ENOENT'),
    'unlinkat': ('EACCES', 'ENOENT'), 'renameat2': ('EINVAL', 'EEXIST'), 'fadvise64': ('EINVAL',), 'pwritev': ('ENOSPC', 'EIO'),
    'timerfd_create': DESCRIPTORS, 'timerfd_settime': ('EINVAL',), 'waitid': ('ECHILD', 'EINTR'), 'setns': ('EPERM',),
    'process_vm_readv': ('EPERM', 'ESRCH'), 'ptrace': ('EPERM', 'ESRCH'), 'sched_setscheduler': ('EPERM',),
    'dup3': ('EBUSY', 'EMFILE'), 'kcmp': ('EPERM', 'ESRCH', 'ENOSYS'),
    'mincore': ('EAGAIN', 'ENOMEM'), 'openat2': ('EPERM', 'EACCES', 'ENOENT', 'ELOOP', 'EMFILE', 'EAGAIN'),
    'sched_setaffinity': ('EINVAL', 'EPERM'), 'setgroups': ('EPERM',), 'setpgid': ('EPERM',),
    'pause': ('EINTR',), 'nanosleep': ('EINTR',), 'rt_sigtimedwait': ('EAGAIN', 'EINTR'), 'pidfd_send_signal': ('ESRCH', 'EPERM'),
    'setresuid': ('EPERM',), 'setresgid': ('EPERM',), 'setsid': ('EPERM',), 'sched_getaffinity': ('EINVAL',),
}
