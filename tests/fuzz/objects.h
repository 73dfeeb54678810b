#pragma once

// Makes objects of a cluster as the gateway sends them: usual objects that an input changes. They have few names, so
// that they refer to each other.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "tests/fuzz/input.h"

namespace basalt::fuzz {

// Returns names, words and texts that have a meaning for services.
Input::Words ServiceWords();

void SetIdentity(kube::v1::Object& object, const std::string& ns, const std::string& name, const std::string& uid);
// Limits the object's number of pods. Thousands of pods take the same paths through the code as a few, but more time.
void BoundPods(kube::v1::Object& object);

class ObjectMaker {
 public:
  explicit ObjectMaker(Input& input) : input_(input) {}
  // Returns an object of any kind, with an identity and without a version.
  kube::v1::Object New();
  std::string NewUid();

 private:
  Input& input_;
  int uids_ = 0;
};

}  // namespace basalt::fuzz
