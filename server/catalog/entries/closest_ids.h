// What may have been meant by an id that is not known.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_CLOSEST_IDS_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_CLOSEST_IDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace foretoken::catalog {

// An alias in lower case, and the id that it stands for.
struct KnownAlias {
  std::string_view alias;
  std::string_view id;
};

// The ids of `known` that are nearest to `asked`, at most three, nearest first; none past half as many edits as `asked`
// has characters. Case, the owner before a '/', and the order of words between '-' do not matter. Takes a time that
// grows with the length of `asked` and the number of ids. An alias is near if it differs in one place, by two
// characters and half of `asked` at most, and if `asked` is part of no id.
std::vector<std::string> ClosestIds(std::string_view asked, const std::vector<std::string_view>& known,
                                    const std::vector<KnownAlias>& aliases = {});

// "; did you mean vllm, lmdeploy?", or "" where no known id is near.
std::string DidYouMean(std::string_view asked, const std::vector<std::string_view>& known,
                       const std::vector<KnownAlias>& aliases = {});

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_CLOSEST_IDS_H_
