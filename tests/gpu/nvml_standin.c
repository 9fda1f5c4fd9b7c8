/* A stand-in for libnvidia-ml.so.1: what nvidia-ml-py calls, answered from a text file that a test writes.

   The file (NVML_STANDIN names it, else the one it was compiled with: workers get no such variable) is read at every call, so that a test can change the machine between two calls:
     gpus 2             how many GPUs
     init 18            what nvmlInit answers
     fail 1 15          every question about GPU 1 is answered with error 15
     fail_after 6 1 15  the same, but only after the first 6 questions about GPU 1
     lacks Ecc          functions with this in their name are not supported
     absent Memory_v2   the same, as a driver does that is older than the function
     mig 0 3            GPU 0 is split; 3 of its 7 places are taken
     total N, used N    bytes of every GPU
     process 0 4711 N   a process on GPU 0 with N bytes (18446744073709551615: not known)
     process_file 0 F N the same; its number is read from a file
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int uint;
typedef unsigned long long ull;
typedef struct { int gpu, slice, asked; } device;
typedef struct { ull total, free, used; } memory;
typedef struct { uint version; ull total, reserved, free, used; } memory_v2;
typedef struct { uint pid; ull used; uint instance, compute; } process;
typedef struct { char legacy[16]; uint domain, bus, device, id, subsystem; char bus_id[32]; } pci;

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NO_FUNCTION = 13, SLICES = 7, MOST = 16, RESERVED = 300 << 20 };

static device devices[MOST][SLICES + 1];
static ull energy = 5000;

/* Calls `visit` with the words of each line until it says stop. */
static int each_line(int (*visit)(char words[4][256], void *), void *given) {
  const char *named = getenv("NVML_STANDIN");
  FILE *file = fopen(named ? named : MACHINE_FILE, "r");
  char line[1024], words[4][256];
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file)) {
    memset(words, 0, sizeof words);
    if (sscanf(line, "%255s %255s %255s %255s", words[0], words[1], words[2], words[3]) > 1) found = visit(words, given);
  }
  if (file) fclose(file);
  return found;
}

struct want { const char *key; ull value; };
static int is_key(char words[4][256], void *given) {
  struct want *want = given;
  if (strcmp(words[0], want->key)) return 0;
  want->value = strtoull(words[1], 0, 10);
  return 1;
}
static ull number(const char *key, ull otherwise) {
  struct want want = {key, otherwise};
  each_line(is_key, &want);
  return want.value;
}

struct question { const char *function; device *of; int answer; };
static int answers(char words[4][256], void *given) {
  struct question *asked = given;
  int gpu = asked->of ? asked->of->gpu : -1;
  if (!strcmp(words[0], "lacks") && strstr(asked->function, words[1])) asked->answer = NOT_SUPPORTED;
  if (!strcmp(words[0], "absent") && strstr(asked->function, words[1])) asked->answer = NO_FUNCTION;
  if (!strcmp(words[0], "fail") && gpu == atoi(words[1])) asked->answer = atoi(words[2]);
  if (!strcmp(words[0], "fail_after") && gpu == atoi(words[2]) && asked->of->asked > atoi(words[1]))
    asked->answer = atoi(words[3]);
  return asked->answer != OK;
}
static int answer(const char *function, device *of) {
  struct question asked = {function, of, OK};
  if (of) of->asked++;
  each_line(answers, &asked);
  return asked.answer;
}
#define ASK(of) do { int code = answer(__func__, of); if (code) return code; } while (0)

struct split { int gpu, slices; };
static int is_split(char words[4][256], void *given) {
  struct split *split = given;
  if (strcmp(words[0], "mig") || atoi(words[1]) != split->gpu) return 0;
  split->slices = atoi(words[2]);
  return 1;
}
static int slices_of(int gpu) {
  struct split split = {gpu, -1};
  each_line(is_split, &split);
  return split.slices;
}
static ull total_of(device *of) { return number("total", 24ull << 30) / (of->slice ? SLICES : 1); }
static ull used_of(device *of) { return number("used", 1ull << 30) / (of->slice ? SLICES : 1); }

int nvmlInitWithFlags(uint flags) { return (int)number("init", OK) + 0 * flags; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == 999 ? "Unknown Error" : "an error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *text, uint length) { ASK(0); snprintf(text, length, "570.86.15"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { ASK(0); *version = 12080; return OK; }
int nvmlDeviceGetCount_v2(uint *count) { ASK(0); *count = (uint)number("gpus", 0); return OK; }

int nvmlDeviceGetHandleByIndex_v2(uint index, device **found) {
  devices[index][0].gpu = (int)index;
  *found = &devices[index][0];
  ASK(*found);
  return OK;
}
int nvmlDeviceGetName(device *of, char *text, uint length) {
  ASK(of);
  snprintf(text, length, of->slice ? "NVIDIA A100-SXM4-40GB MIG 1g.5gb" : "NVIDIA L4");
  return OK;
}
int nvmlDeviceGetUUID(device *of, char *text, uint length) {
  ASK(of);
  snprintf(text, length, of->slice ? "MIG-%04d-%04d" : "GPU-%04d", of->gpu, of->slice);
  return OK;
}
int nvmlDeviceGetPciInfo_v3(device *of, pci *info) {
  ASK(of);
  memset(info, 0, sizeof *info);
  snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", of->gpu + 1);
  return OK;
}
int nvmlDeviceGetCudaComputeCapability(device *of, int *major, int *minor) { ASK(of); *major = 8; *minor = 9; return OK; }
int nvmlDeviceGetMemoryInfo(device *of, memory *info) {
  ASK(of);
  *info = (memory){total_of(of), total_of(of) - used_of(of) - RESERVED, used_of(of) + RESERVED};
  return OK;
}
int nvmlDeviceGetMemoryInfo_v2(device *of, memory_v2 *info) {
  ASK(of);
  *info = (memory_v2){info->version, total_of(of), RESERVED, total_of(of) - used_of(of) - RESERVED, used_of(of)};
  return OK;
}
int nvmlDeviceGetEccMode(device *of, uint *now, uint *later) { ASK(of); *now = 1; *later = 0; return OK; }
int nvmlDeviceGetMigMode(device *of, uint *now, uint *later) { ASK(of); *now = *later = slices_of(of->gpu) >= 0; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(device *of, uint *count) { ASK(of); *count = SLICES; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device *of, uint index, device **found) {
  ASK(of);
  if ((int)index >= slices_of(of->gpu)) return NOT_FOUND;
  devices[of->gpu][index + 1] = (device){of->gpu, (int)index + 1, 0};
  *found = &devices[of->gpu][index + 1];
  return OK;
}
int nvmlDeviceGetPowerUsage(device *of, uint *milliwatts) { ASK(of); *milliwatts = 72500; return OK; }
int nvmlDeviceGetTotalEnergyConsumption(device *of, ull *millijoules) { ASK(of); *millijoules = energy += 250; return OK; }

struct listing { int gpu; uint count, room; process *into; };
static int is_process(char words[4][256], void *given) {
  struct listing *list = given;
  int by_file = !strcmp(words[0], "process_file");
  if ((strcmp(words[0], "process") && !by_file) || atoi(words[1]) != list->gpu) return 0;
  if (list->into && list->count < list->room) {
    uint pid = (uint)atoi(words[2]);
    FILE *file = by_file ? fopen(words[2], "r") : 0;
    if (file && fscanf(file, "%u", &pid) != 1) pid = 0;
    if (file) fclose(file);
    list->into[list->count] = (process){pid, strtoull(words[3], 0, 10), 0, 0};
  }
  list->count++;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(device *of, uint *count, process *into) {
  ASK(of);
  struct listing list = {of->slice ? -1 : of->gpu, 0, *count, into};
  each_line(is_process, &list);
  *count = list.count;
  return list.count > list.room ? TOO_SMALL : OK;
}
int nvmlSystemGetProcessName(uint pid, char *text, uint length) {
  ASK(0);
  if (pid == 0) return NOT_FOUND;
  snprintf(text, length, "python%u", pid);
  return OK;
}
