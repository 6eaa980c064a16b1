#include "translate/rules.h"

namespace intarsia {

std::span<const TranslationRow> recurrent_translations() { return {}; }

}  // namespace intarsia
