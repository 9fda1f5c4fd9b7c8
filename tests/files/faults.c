/* Preloaded into a program, makes the n-th call that changes files in one folder fail:

     FAULTS_UNDER=/folder FAULTS_AT=3 FAULTS_ERRNO=28 FAULTS_COUNT=/file LD_PRELOAD=./faults.so program

   Every such call is counted, and the name of each is appended to FAULTS_COUNT. FAULTS_AT=0 lets all of them pass.
   With FAULTS_ON set every call from the n-th on fails: a disk that stays full. A write that fails takes half of what it
   was given first, as on a disk that fills up. With FAULTS_KILL set the process is killed in place of the call.
   With FAULTS_NOBODY set the system does not know whose process this is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int calls, halved;

void faults_reset(void) { calls = halved = 0; }

static int number(const char *name) {
  const char *value = getenv(name);
  return value ? atoi(value) : 0;
}

static int is_ours(const char *path) {
  const char *under = getenv("FAULTS_UNDER");
  return under && path && strncmp(path, under, strlen(under)) == 0;
}

static int is_open_in_ours(int descriptor) {
  char link[64], path[PATH_MAX + 1];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX);
  if (length < 0) return 0;
  path[length] = 0;
  return is_ours(path);
}

static int fails(const char *name) {
  int (*open_)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  ssize_t (*write_)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  const char *log = getenv("FAULTS_COUNT");
  calls++;
  if (log) {
    int file = open_(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[32];
    int length = snprintf(line, sizeof line, "%s\n", name);
    if (file < 0 || write_(file, line, length) != length) abort();
    close(file);
  }
  int at = number("FAULTS_AT");
  if (!at || !(calls == at || (getenv("FAULTS_ON") && calls > at))) return 0;
  if (getenv("FAULTS_KILL")) kill(getpid(), SIGKILL);
  errno = number("FAULTS_ERRNO");
  return 1;
}

#define REAL(type, name, ...) type (*real)(__VA_ARGS__) = dlsym(RTLD_NEXT, #name)

static int opened(const char *symbol, const char *path, int flags, mode_t mode) {
  int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, symbol);
  if ((flags & O_CREAT) && is_ours(path) && fails("open")) return -1;
  return real(path, flags, mode);
}

#define OPEN(name)                                                  \
  int name(const char *path, int flags, ...) {                      \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;     \
    va_end(rest);                                                   \
    return opened(#name, path, flags, mode);                        \
  }
OPEN(open)
OPEN(open64)

ssize_t write(int descriptor, const void *data, size_t count) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (is_open_in_ours(descriptor)) {
    if (halved == descriptor + 1) {
      halved = 0;
      errno = number("FAULTS_ERRNO");
      return -1;
    }
    if (fails("write")) {
      if (count < 2) return -1;
      halved = descriptor + 1;
      return real(descriptor, data, count / 2);
    }
  }
  return real(descriptor, data, count);
}

int fsync(int descriptor) {
  REAL(int, fsync, int);
  return is_open_in_ours(descriptor) && fails("fsync") ? -1 : real(descriptor);
}

int fchmod(int descriptor, mode_t mode) {
  REAL(int, fchmod, int, mode_t);
  return is_open_in_ours(descriptor) && fails("fchmod") ? -1 : real(descriptor, mode);
}

int rename(const char *from, const char *to) {
  REAL(int, rename, const char *, const char *);
  return is_ours(to) && fails("rename") ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, mkdir, const char *, mode_t);
  return is_ours(path) && fails("mkdir") ? -1 : real(path, mode);
}

struct passwd *getpwuid(uid_t user) {
  REAL(struct passwd *, getpwuid, uid_t);
  return getenv("FAULTS_NOBODY") ? NULL : real(user);
}

int getpwuid_r(uid_t user, struct passwd *entry, char *buffer, size_t size, struct passwd **result) {
  REAL(int, getpwuid_r, uid_t, struct passwd *, char *, size_t, struct passwd **);
  if (!getenv("FAULTS_NOBODY")) return real(user, entry, buffer, size, result);
  *result = NULL;
  return 0;
}
