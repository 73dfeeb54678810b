#pragma once

// A real API server with deploy/admission, without the suite. Tests send the manifests of tests/crds to the server.
//
// One thread. A request without an answer is a failed expectation.
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
  // Starts the server with the definitions of that folder, or with ours if `definitions` is empty. Returns null if the
  // server did not become ready.
  static std::unique_ptr<AdmissionServer> Start(const std::string& definitions);

  // Applies the policies of `folder`. Each policy comes into force separately, a moment after its creation.
  void Apply(std::string_view folder);

  conformance::Answer Send(std::string method, std::string target, const json::value& body,
                           std::string type = "application/json");
  conformance::Answer Make(const json::value& manifest);
  // Sends a dry run of a create: the answer has the object that the server would store.
  conformance::Answer Create(const json::value& manifest);
  conformance::Answer Replace(const json::value& object);
  conformance::Answer Delete(const json::value& object, std::string_view query = "");
  // Sends a merge patch. `subresource` is empty or begins with a slash.
  conformance::Answer Patch(const json::value& object, std::string_view subresource, std::string_view change);
  // Returns the answer to the manifest of the case. The object of an update case is created before the update, which is
  // a dry run, and deleted afterwards.
  conformance::Answer AnswerTo(const crds::Case& one);

  std::string WriteFile(const std::string& text) const;
  Cluster& cluster() { return *cluster_; }
  // Returns true if the definitions are ours.
  bool ours() const { return ours_; }

 private:
  bool ours_ = true;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<conformance::Connection> connection_;
};

// Expects that `holds` is true within a minute: a policy that was just made is not in force at once.
void ExpectSoon(const std::function<bool()>& holds);

// Returns true if `text` names the field, or a field that contains it.
bool Names(std::string_view text, std::string_view field);
// Expects that the refusal names the field of the case and has the case's message.
void ExpectNamed(const crds::Case& one, const std::string& text);

}  // namespace basalt::realkube
