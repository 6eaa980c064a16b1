/* Plug-in of qemu-user that counts the instructions that threads of the guest run: at the end their number is
   on standard error. With an argument (`clock=instructions`) the guest's clock tells it, one a nanosecond.
   The declarations are those of QEMU's qemu-plugin.h (version 1), which distributions do not install. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t PluginId;
struct qemu_plugin_tb;
struct qemu_info_t;

extern void qemu_plugin_register_vcpu_tb_trans_cb(PluginId id,
                                                  void (*call)(PluginId, struct qemu_plugin_tb*));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int add, void* to,
                                                     uint64_t number);
extern void qemu_plugin_register_vcpu_syscall_cb(PluginId id,
                                                 void (*call)(PluginId, unsigned, int64_t, uint64_t, uint64_t,
                                                              uint64_t, uint64_t, uint64_t, uint64_t,
                                                              uint64_t, uint64_t));
extern void qemu_plugin_register_vcpu_syscall_ret_cb(PluginId id,
                                                     void (*call)(PluginId, unsigned, int64_t, int64_t));
extern void qemu_plugin_register_atexit_cb(PluginId id, void (*call)(PluginId, void*), void* data);

int qemu_plugin_version = 1;

enum { clock_gettime_of_aarch64 = 113 };

static uint64_t instructions;
static _Thread_local uint64_t guest_time; /* address of what the call fills in; the guest's base is 0 */

static void count_block(PluginId id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &instructions, qemu_plugin_tb_n_insns(block));
}

static void begin_call(PluginId id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                       uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)cpu, (void)a, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number == clock_gettime_of_aarch64) guest_time = b;
}

static void end_call(PluginId id, unsigned cpu, int64_t number, int64_t status) {
  (void)id, (void)cpu;
  if (number != clock_gettime_of_aarch64 || status != 0) return;
  int64_t* time = (int64_t*)(uintptr_t)guest_time;
  time[0] = (int64_t)(instructions / 1000000000);
  time[1] = (int64_t)(instructions % 1000000000);
}

static void report(PluginId id, void* data) {
  (void)id, (void)data;
  fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

int qemu_plugin_install(PluginId id, const struct qemu_info_t* info, int count, char** arguments) {
  (void)info, (void)arguments;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, report, NULL);
  if (count == 0) return 0;
  qemu_plugin_register_vcpu_syscall_cb(id, begin_call);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, end_call);
  return 0;
}
