#pragma once

// A real API server with deploy/admission, which tests ask about the manifests of tests/crds, where nothing of the
// suite runs.
//
// One thread. What the server does not answer is a failed expectation.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "tests/conformance/client.h"
#include "tests/crds/case.h"
#include "tests/realkube/cluster.h"

namespace basalt::realkube {

class AdmissionServer {
 public:
  // With the definitions of that folder; empty: ours. Null: it did not become ready.
  static std::unique_ptr<AdmissionServer> Start(const std::string& definitions);

  // A policy counts a moment after it was made, and each for itself.
  void Apply(std::string_view folder);

  conformance::Answer Send(std::string method, std::string target, const json::value& body,
                           std::string type = "application/json");
  conformance::Answer Make(const json::value& manifest);
  // Changes nothing, and answers what it would make of the manifest.
  conformance::Answer Create(const json::value& manifest);
  conformance::Answer Replace(const json::value& object);
  conformance::Answer Delete(const json::value& object, std::string_view query = "");
  // A merge patch; `subresource` is empty or begins with a slash.
  conformance::Answer Patch(const json::value& object, std::string_view subresource, std::string_view change);
  // To the manifest of the case; of an update, which is tried alone, the object is made before and deleted afterwards.
  conformance::Answer AnswerTo(const crds::Case& one);

  std::string WriteFile(const std::string& text) const;
  Cluster& cluster() { return *cluster_; }
  // Whether the definitions are ours.
  bool ours() const { return ours_; }

 private:
  bool ours_ = true;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<conformance::Connection> connection_;
};

// Expects that `holds` is true within a minute: a policy that was just made is not in force at once.
void ExpectSoon(const std::function<bool()>& holds);

// Whether a sentence names the field, or what it lies in.
bool Names(std::string_view text, std::string_view field);
// The refusal is about the field of the case, in its words.
void ExpectNamed(const crds::Case& one, const std::string& text);

}  // namespace basalt::realkube
