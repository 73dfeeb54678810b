#pragma once

// Counters, gauges and histograms for Prometheus, without its headers. All are thread-safe. The handles live as long as
// the registry. GetCounter and the like cost a lookup: keep the handle instead of a lookup per event.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace basalt::obs {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(double value = 1) = 0;
  virtual double Value() const = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
  virtual void Add(double value) = 0;
  virtual double Value() const = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

class Metrics {
 public:
  virtual ~Metrics() = default;
  virtual Counter& GetCounter(std::string_view name, std::string_view help, Labels labels = {}) = 0;
  virtual Gauge& GetGauge(std::string_view name, std::string_view help, Labels labels = {}) = 0;
  virtual Histogram& GetHistogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                                  Labels labels = {}) = 0;
  virtual void Remove(std::string_view name, const Labels& labels) = 0;  // Removes one series, and its handle.
  virtual std::string Text() const = 0;                                  // Returns all series in the exposition format.
};

std::unique_ptr<Metrics> MakeMetrics();

}  // namespace basalt::obs
