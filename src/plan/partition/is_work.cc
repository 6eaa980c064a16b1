#include "plan/partition/is_work.h"

#include "graph/op_table.h"

namespace intarsia {

bool is_work(const Node& node) {
  if (const OpInfo* op = find_op(node.domain, node.op)) return op->is_work;
  return node.op.contains("Conv") || node.op.contains("MatMul");
}

}  // namespace intarsia
