"""Which system calls a worker never needs, and their numbers."""

# Numbers on x86_64 and aarch64, from the kernel's unistd.h; None: the machine has no such call.
NETWORK = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
}
PROGRAMS = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
}
# Calls that reach past what Landlock guards: other processes, the kernel, permissions of files anywhere.
BEYOND = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425),  # does what other calls do, unseen by seccomp
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "modify_ldt": (154, None),
    "memfd_secret": (447, 447),
    "iopl": (172, None),
    "ioperm": (173, None),
    "open_by_handle_at": (304, 265),
    # Memory, queues and semaphores of the user's other processes: their numbers can be guessed.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    # Memory that belongs to no process, so that nobody sees how much a worker holds: larger buffers of sockets,
    # files on their way through a socket, memory pinned by a pipe.
    "setsockopt": (54, 208),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "vmsplice": (278, 75),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "setrlimit": (160, 164),
    "setsid": (112, 157),  # leaving the group would mean not being stopped with it
    "setpgid": (109, 154),
    "tkill": (200, 130),
    "vhangup": (153, 58),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    # What happens in any folder that the user may read.
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "name_to_handle_at": (303, 264),
    # Time stamps of files anywhere that belong to the user, which Landlock does not guard.
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    # Other processes of the same user: how fast they run, where, and what they have in common.
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "kcmp": (312, 272),
    "process_mrelease": (448, 448),
}
# Extended attributes of files anywhere, which Landlock does not guard: a download's address, say. Libraries are used to
# file systems that have none.
UNSUPPORTED = {
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "getxattrat": (464, 464),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
    "listxattrat": (465, 465),
}
# Files in memory: what they hold is counted only while they are open. CUDA may need them.
MEMORY_FILES = {"memfd_create": (319, 279)}
# Allowed for the process itself only: the first argument is the process they are for.
SELF_ONLY = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
# Commands of calls that are needed otherwise: numbers of the call, which argument is the command, refused commands.
F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ = 8, 10, 15, 1024, 1026, 1031
CLOSE_RANGE_UNSHARE, CLOSE_RANGE_CLOEXEC = 2, 4
FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C
# FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FS_IOC_ENABLE_VERITY
CHANGE_FILES = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40806685)
REFUSED_COMMANDS = {
    # Who gets a signal when a file is ready may be any process; a lease makes others wait; a large pipe holds memory.
    "fcntl": ((72, 25), 1, (F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ)),
    # The same for sockets and terminals, keys typed into a terminal, attributes of files that are only open to read.
    "ioctl": (
        (16, 29),
        1,
        (FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX, *CHANGE_FILES),
    ),
    # A thread with open files of its own: nobody could count them.
    "close_range": ((436, 436), 2, (CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)),
}
CLONE = (56, 220)
MMAP = (9, 222)
CLONE3 = (435, 435)  # its flags lie in memory, out of the filter's sight: glibc falls back to clone
# A pair of datagram sockets needs no socket() and can still send to any named or abstract socket; of streams it can't.
SOCKETPAIR = (53, 199)
PRLIMIT = (302, 261)
SCHED_SETAFFINITY = (203, 122)
SECCOMP = (317, 277)
