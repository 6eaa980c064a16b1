#include "backends/plugin/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "backends/plugin/compiled_sink.h"
#include "backends/plugin/graph_reader.h"
#include "backends/plugin/plugin_blob.h"
#include "plugin/one_line.h"
#include "plugin/plugin_call.h"

namespace intarsia {
namespace {

constexpr size_t workspace_alignment = 64;
constexpr size_t most_workspace = size_t{1} << 46;
constexpr int64_t most_nanoseconds = 3'600'000'000'000;  // longest time that a node may declare

/// Returns why no plug-in is asked about a node that reads or makes the value; empty if one may be.
std::string why_not_offered(const Value& value, bool takes_open_sizes) {
  if (value.type.opaque) return fmt::format("'{}' is not a tensor", value.name);
  if (value.type.dtype == DType::undefined) return fmt::format("the type of '{}' is not known", value.name);
  if (value.type.dtype == DType::string) return fmt::format("'{}' has strings", value.name);
  if (!value.type.shape) return fmt::format("the rank of '{}' is not known", value.name);
  if (value.type.shape->size() > INTARSIA_PLUGIN_MAX_RANK)
    return fmt::format("'{}' has more than {} axes", value.name, INTARSIA_PLUGIN_MAX_RANK);
  if (!takes_open_sizes && !value.type.fixed_shape())
    return fmt::format("'{}' is {}, which has open sizes", value.name, print_type(value.type));
  return {};
}

/// Callbacks of a plug-in that compiles a region.
class ShownCompile {
 public:
  explicit ShownCompile(const CompileOptions& options) : options_(options) { options.progress.expect(1); }

  static int32_t is_cancelled(void* host) {
    const CompileOptions& options = static_cast<ShownCompile*>(host)->options_;
    return options.is_cancelled && options.is_cancelled() ? 1 : 0;
  }
  /// Shows progress, neither back nor beyond the end.
  static void show(void* host, double part) {
    auto& shown = *static_cast<ShownCompile*>(host);
    if (!(part > shown.part_) || part > 1) return;
    shown.options_.progress.did("compile_regions", part - std::exchange(shown.part_, part));
  }

 private:
  const CompileOptions& options_;
  double part_ = 0;
};

class PluginTarget : public Target {
 public:
  explicit PluginTarget(std::shared_ptr<const Plugin> plugin)
      : Target({.name = plugin->name(),
                .device_kinds = {plugin->name()},
                .is_plugin = true,
                .has_groups = plugin->compiler()->groups != nullptr,
                .takes_open_sizes = plugin->compiler()->takes_open_sizes != 0,
                .is_on_host = plugin->runtime().unified_memory != 0,
                .alignment = std::max<size_t>(plugin->runtime().alignment, 64)}),
        plugin_(std::move(plugin)) {}

  std::string version() const override { return plugin_->version(); }

  uint64_t memory_bytes(const std::string& device) const override {
    const auto& memory_bytes_of = plugin_->runtime().memory_bytes;
    size_t number = 0;
    const std::string digits = device.substr(device.find(':') + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return memory_bytes_of == nullptr || error != std::errc() ? 0 : memory_bytes_of(number);
  }

  Support supports(const Graph& graph, NodeId id, const TargetDevice& device) const override {
    const Node& node = graph.node(id);
    const bool has_subgraph = std::ranges::any_of(node.attributes, [](const Attributes::Entry& entry) {
      return std::holds_alternative<EncodedAttribute>(entry.value);
    });
    if (has_subgraph) return Support::refused("it has a subgraph");
    std::vector<ValueId> values = values_read(node);
    std::ranges::copy_if(node.outputs, std::back_inserter(values), [](ValueId v) { return v != no_value; });
    for (ValueId value : values) {
      std::string why = why_not_offered(graph.value(value), info().takes_open_sizes);
      if (!why.empty()) return Support::refused(std::move(why));
    }
    const plugin::GraphReader reader(graph);
    PluginMessage message;
    if (compiler().supports(reader.get(), index(id), device.name.c_str(), message.get()) != 0)
      return Support::supported();
    const std::string why = one_line(message.text());
    return Support::refused(why.empty() ? "it gave no reason" : why);
  }

  Result<std::vector<size_t>> groups(const Graph& graph, const TargetDevice& device) const override {
    static_assert(no_group == INTARSIA_PLUGIN_NONE);
    if (compiler().groups == nullptr) return std::vector<size_t>();
    const plugin::GraphReader reader(graph);
    std::vector<size_t> group_of(graph.nodes.size(), no_group);
    PluginMessage message;
    const int32_t status =
        compiler().groups(reader.get(), device.name.c_str(), group_of.data(), message.get());
    TRY(check_plugin_status(plugin_->who(), "groups for " + device.name, status, message));
    return group_of;
  }

  Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const override {
    std::vector<AxisOrder> orders(region.outputs.size());
    if (compiler().layouts == nullptr) return orders;
    std::vector<size_t*> places;
    for (size_t i = 0; i < orders.size(); ++i) {
      orders[i] = row_major_order(region.value(region.outputs[i]).type.shape->size());
      places.push_back(orders[i].data());
    }
    const plugin::GraphReader reader(region);
    PluginMessage message;
    const int32_t status = compiler().layouts(reader.get(), places.data(), message.get());
    TRY(check_plugin_status(plugin_->who(), "layouts", status, message));
    for (size_t i = 0; i < orders.size(); ++i)
      if (!is_order_of(orders[i], orders[i].size()))
        return fail(ErrorKind::io, "{}: layouts: '{}' has its axes in the order {}; want each of its {} once",
                    plugin_->who(), region.value(region.outputs[i]).name, fmt::join(orders[i], ", "),
                    orders[i].size());
    return orders;
  }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    const plugin::GraphReader reader(region);
    ShownCompile shown(options);
    const intarsia_plugin_compile_options for_plugin{sizeof(for_plugin),
                                                     device.name.c_str(),
                                                     options.exact_math ? 1 : 0,
                                                     options.keep_names ? 1 : 0,
                                                     &shown,
                                                     ShownCompile::is_cancelled,
                                                     ShownCompile::show};
    plugin::CompiledSink sink;
    PluginMessage message;
    const int32_t status = compiler().compile(reader.get(), &for_plugin, sink.get(), message.get());
    const std::string what = "compile for " + device.name;
    if (options.is_cancelled && options.is_cancelled())
      return fail(ErrorKind::cancelled, "{}: {}: interrupted", plugin_->who(), what);
    TRY(check_plugin_status(plugin_->who(), what, status, message));
    if (!sink.blob()) return fail(ErrorKind::io, "{}: {}: it set no blob", plugin_->who(), what);
    if (sink.workspace_bytes() > most_workspace)
      return fail(ErrorKind::io, "{}: {}: it wants {} bytes of workspace", plugin_->who(), what,
                  sink.workspace_bytes());
    CompiledRegion compiled;
    compiled.constants = sink.take_constants();
    plugin::BlobHeader header{plugin_->name(), plugin_->version(), region.inputs.size(),
                              region.outputs.size(), compiled.constants.size()};
    header.costs = TRY(declared_costs(region, reader, device, options));
    compiled.blob = plugin::encode_blob(header, *sink.blob());
    compiled.workspace_bytes =
        (sink.workspace_bytes() + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    compiled.kernels = static_cast<int>(region.nodes.size());
    return compiled;
  }

 private:
  /// Returns the cost of each node; empty if the plug-in declares nothing.
  Result<std::vector<plugin::DeclaredCost>> declared_costs(const Graph& region,
                                                           const plugin::GraphReader& reader,
                                                           const TargetDevice& device,
                                                           const CompileOptions& options) const {
    std::vector<plugin::DeclaredCost> costs;
    if (compiler().cost == nullptr) return costs;
    const std::string what = "cost for " + device.name;
    for (size_t node = 0; node < region.nodes.size(); ++node) {
      PluginMessage message;
      int64_t nanoseconds = -1;
      const int32_t status =
          compiler().cost(reader.get(), node, device.name.c_str(), &nanoseconds, message.get());
      TRY(check_plugin_status(plugin_->who(), what, status, message));
      if (nanoseconds < 0 || nanoseconds > most_nanoseconds)
        return fail(ErrorKind::io, "{}: {}: '{}' takes {} ns; want 0 to {}", plugin_->who(), what,
                    region.nodes[node].name, nanoseconds, most_nanoseconds);
      const Node& about = region.nodes[node];
      const std::string label = options.keep_names ? fmt::format("{}: {}", about.name, about.op) : "";
      costs.push_back({label, static_cast<uint64_t>(nanoseconds)});
    }
    return costs;
  }

  const intarsia_plugin_compiler& compiler() const { return *plugin_->compiler(); }

  std::shared_ptr<const Plugin> plugin_;
};

}  // namespace

std::unique_ptr<Target> make_plugin_target(std::shared_ptr<const Plugin> plugin) {
  return std::make_unique<PluginTarget>(std::move(plugin));
}

}  // namespace intarsia
