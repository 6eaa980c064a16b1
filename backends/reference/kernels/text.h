#pragma once

#include "backends/reference/kernel.h"

namespace intarsia::reference {

Status require_strings(const KernelContext& context, size_t input);

// tfidf.cc
Status tfidf_vectorizer(KernelContext& context);

}  // namespace intarsia::reference
