/* Plug-in of qemu-user that counts the instructions that a program executes: writes the number to standard
   error when the program ends. Declares what it uses of the interface that QEMU documents ("TCG Plugins"), as
   Debian does not install its header. cc -shared -fPIC count_instructions.c -o count.so; qemu-aarch64 -plugin
   ./count.so PROGRAM
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;

enum { oldest_version = 1, add_u64 = 0 };

typedef void (*on_translate)(plugin_id id, struct qemu_plugin_tb* block);
typedef void (*on_exit)(plugin_id id, void* data);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, on_translate callback);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int operation, void* counter,
                                              uint64_t amount);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
void qemu_plugin_register_atexit_cb(plugin_id id, on_exit callback, void* data);

__attribute__((visibility("default"))) int qemu_plugin_version = oldest_version;

static uint64_t executed;

static void count_block(plugin_id id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, add_u64, &executed, qemu_plugin_tb_n_insns(block));
}

static void report(plugin_id id, void* data) {
  (void)id, (void)data;
  fprintf(stderr, "instructions %" PRIu64 "\n", executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void* info, int count,
                                                               char** arguments) {
  (void)info, (void)count, (void)arguments;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, report, NULL);
  return 0;
}
