#include <gtest/gtest.h>

#include <string>

#include "common/base/random.h"
#include "gateway/translate/decoder.h"
#include "gateway/translate/sample_pod.h"

namespace basalt::gateway {
namespace {

// Damages a text in a few places: bytes are changed, cut out or doubled, or the end is cut off.
std::string Damage(std::string text, Random& random) {
  constexpr std::string_view kBytes = "{}[]\",:\\0nt5\x80\xff ";
  for (uint64_t i = random.Uniform(4); i < 4 && !text.empty(); ++i) {
    const size_t at = random.Uniform(text.size());
    switch (random.Uniform(4)) {
      case 0:
        text[at] = kBytes[random.Uniform(kBytes.size())];
        break;
      case 1:
        text.erase(at, random.Uniform(8));
        break;
      case 2:
        text.insert(at, text.substr(at, random.Uniform(16)));
        break;
      default:
        if (random.OneIn(4)) text.resize(at);
    }
  }
  return text;
}

TEST(MutationTest, DamagedTextIsRefusedOrReadButNeverCrashes) {
  const std::string pod(kSamplePod);
  const std::string job =
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j","namespace":"n","uid":"u",)"
      R"("labels":{"a":"b"}},"spec":{"minAvailable":3,"plugins":{"svc":[]},"policies":[{"event":"*","timeout":"1s"}],)"
      R"("tasks":[{"name":"t","replicas":2,"template":{"spec":{"containers":[{"name":"c"}]}}}]},)"
      R"("status":{"state":{"phase":"Running"},"taskStatusCount":{"t":{"phase":{"Running":1}}}}})";
  SeededRandom random(7);
  for (const ObjectKind kind : {ObjectKind::kPod, ObjectKind::kJob, ObjectKind::kPodGroup, ObjectKind::kQueue,
                                ObjectKind::kCommand, ObjectKind::kGeneric}) {
    Decoder decoder(kind);
    const std::string& object = kind == ObjectKind::kPod ? pod : job;
    const std::string line = R"({"type":"ADDED","object":)" + object + "}";
    const std::string list = R"({"metadata":{"resourceVersion":"1"},"items":[)" + object + "," + object + "]}";
    int refused = 0;
    for (int i = 0; i < 1500; ++i) {
      if (!decoder.DecodeWatchLine(Damage(line, random)).ok()) ++refused;
      if (!decoder.DecodeList(Damage(list, random)).ok()) ++refused;
      DecodeStatusError(500, Damage(object, random));
    }
    EXPECT_GT(refused, 0);
    EXPECT_TRUE(decoder.DecodeWatchLine(line).ok());
    EXPECT_TRUE(decoder.DecodeList(list).ok());
  }
}

}  // namespace
}  // namespace basalt::gateway
