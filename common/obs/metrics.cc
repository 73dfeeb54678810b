#include "common/obs/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>

#include "common/base/mutex.h"

namespace basalt::obs {
namespace {

class PromCounter final : public Counter {
 public:
  explicit PromCounter(prometheus::Counter& counter) : counter_(counter) {}
  void Add(double value) override { counter_.Increment(value); }
  double Value() const override { return counter_.Value(); }
  prometheus::Counter& counter_;
};

class PromGauge final : public Gauge {
 public:
  explicit PromGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_.Set(value); }
  void Add(double value) override { gauge_.Increment(value); }
  double Value() const override { return gauge_.Value(); }
  prometheus::Gauge& gauge_;
};

class PromHistogram final : public Histogram {
 public:
  explicit PromHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void Observe(double value) override { histogram_.Observe(value); }
  prometheus::Histogram& histogram_;
};

template <typename Handle, typename Prom>
struct Kind {
  std::map<std::string, prometheus::Family<Prom>*, std::less<>> families;
  std::map<Prom*, std::unique_ptr<Handle>> handles;
};

prometheus::Labels ToProm(const Labels& labels) { return {labels.begin(), labels.end()}; }

class PromMetrics final : public Metrics {
 public:
  Counter& GetCounter(std::string_view name, std::string_view help, Labels labels) override {
    MutexLock lock(mutex_);
    return Get<PromCounter>(counters_, prometheus::BuildCounter(), name, help, labels);
  }
  Gauge& GetGauge(std::string_view name, std::string_view help, Labels labels) override {
    MutexLock lock(mutex_);
    return Get<PromGauge>(gauges_, prometheus::BuildGauge(), name, help, labels);
  }
  Histogram& GetHistogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                          Labels labels) override {
    MutexLock lock(mutex_);
    return Get<PromHistogram>(histograms_, prometheus::BuildHistogram(), name, help, labels, bounds);
  }

  void Remove(std::string_view name, const Labels& labels) override {
    MutexLock lock(mutex_);
    RemoveFrom(counters_, name, labels);
    RemoveFrom(gauges_, name, labels);
    RemoveFrom(histograms_, name, labels);
  }

  std::string Text() const override { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

 private:
  template <typename Handle, typename Kinds, typename Builder, typename... Args>
  Handle& Get(Kinds& kind, Builder builder, std::string_view name, std::string_view help, const Labels& labels,
              const Args&... args) BASALT_REQUIRES(mutex_) {
    auto family = kind.families.find(name);
    if (family == kind.families.end()) {
      family =
          kind.families
              .emplace(std::string(name), &builder.Name(std::string(name)).Help(std::string(help)).Register(*registry_))
              .first;
    }
    auto& series = family->second->Add(ToProm(labels), args...);
    auto& handle = kind.handles[&series];
    if (handle == nullptr) handle = std::make_unique<Handle>(series);
    return *handle;
  }

  template <typename Kinds>
  void RemoveFrom(Kinds& kind, std::string_view name, const Labels& labels) BASALT_REQUIRES(mutex_) {
    const auto family = kind.families.find(name);
    if (family == kind.families.end() || !family->second->Has(ToProm(labels))) return;
    auto* const series = Existing(*family->second, labels);  // Family::Add returns a series that exists already.
    kind.handles.erase(series);
    family->second->Remove(series);
  }
  template <typename Prom>
  static Prom* Existing(prometheus::Family<Prom>& family, const Labels& labels) {
    if constexpr (std::is_same_v<Prom, prometheus::Histogram>) {
      return &family.Add(ToProm(labels), prometheus::Histogram::BucketBoundaries{});
    } else {
      return &family.Add(ToProm(labels));
    }
  }

  mutable Mutex mutex_;
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  Kind<PromCounter, prometheus::Counter> counters_ BASALT_GUARDED_BY(mutex_);
  Kind<PromGauge, prometheus::Gauge> gauges_ BASALT_GUARDED_BY(mutex_);
  Kind<PromHistogram, prometheus::Histogram> histograms_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Metrics> MakeMetrics() { return std::make_unique<PromMetrics>(); }

}  // namespace basalt::obs
