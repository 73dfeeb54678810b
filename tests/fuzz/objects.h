#pragma once

// Objects of a cluster as the gateway tells of them: usual ones that an input changes, with few names, so that they
// have to do with each other.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "tests/fuzz/input.h"

namespace basalt::fuzz {

// Names, words and texts that mean something to services.
Input::Words ServiceWords();

void SetIdentity(kube::v1::Object& object, const std::string& ns, const std::string& name, const std::string& uid);
// Thousands of pods take no other paths than a few, and their time.
void BoundPods(kube::v1::Object& object);

class ObjectMaker {
 public:
  explicit ObjectMaker(Input& input) : input_(input) {}
  // Of any kind, with an identity and without a version.
  kube::v1::Object New();
  std::string NewUid();

 private:
  Input& input_;
  int uids_ = 0;
};

}  // namespace basalt::fuzz
