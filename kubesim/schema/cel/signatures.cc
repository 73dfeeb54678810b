#include "kubesim/schema/cel/signatures.h"

#include <array>
#include <map>
#include <string>

namespace basalt::kubesim::cel {
namespace {

using Table = std::map<std::string, std::vector<Signature>, std::less<>>;

// "receiver.name(args)result" or "name(args)result"; operators and namespaces are functions without a receiver. Capital
// letters are parameters. N stands for each type that has an order among numbers, O for each that has one, in turn.
constexpr auto kDeclarations = std::to_array<std::string_view>({
    "_==_(A,A)bool",
    "_!=_(A,A)bool",
    "!_(bool)bool",
    "-_(int)int",
    "-_(double)double",
    "_?_:_(bool,A,A)A",
    "@in(A,list<A>)bool",
    "@in(A,map<A,B>)bool",
    "_[_](list<A>,int)A",
    "_[_](map<A,B>,A)B",
    "_[_](optional<list<A>>,int)optional<A>",
    "_[_](optional<map<A,B>>,A)optional<B>",
    "_[?_](list<A>,int)optional<A>",
    "_[?_](map<A,B>,A)optional<B>",
    "_[?_](optional<list<A>>,int)optional<A>",
    "_[?_](optional<map<A,B>>,A)optional<B>",
    "_+_(int,int)int",
    "_+_(uint,uint)uint",
    "_+_(double,double)double",
    "_+_(string,string)string",
    "_+_(bytes,bytes)bytes",
    "_+_(list<A>,list<A>)list<A>",
    "_+_(duration,duration)duration",
    "_+_(duration,timestamp)timestamp",
    "_+_(timestamp,duration)timestamp",
    "_-_(int,int)int",
    "_-_(uint,uint)uint",
    "_-_(double,double)double",
    "_-_(duration,duration)duration",
    "_-_(timestamp,timestamp)duration",
    "_-_(timestamp,duration)timestamp",
    "_*_(int,int)int",
    "_*_(uint,uint)uint",
    "_*_(double,double)double",
    "_/_(int,int)int",
    "_/_(uint,uint)uint",
    "_/_(double,double)double",
    "_%_(int,int)int",
    "_%_(uint,uint)uint",
    // Conversions.
    "dyn(A)dyn",
    "type(A)type<A>",
    "int(int)int",
    "int(uint)int",
    "int(double)int",
    "int(string)int",
    "int(timestamp)int",
    "int(duration)int",
    "uint(uint)uint",
    "uint(int)uint",
    "uint(double)uint",
    "uint(string)uint",
    "double(double)double",
    "double(int)double",
    "double(uint)double",
    "double(string)double",
    "bool(bool)bool",
    "bool(string)bool",
    "string(string)string",
    "string(bool)string",
    "string(int)string",
    "string(uint)string",
    "string(double)string",
    "string(bytes)string",
    "string(timestamp)string",
    "string(duration)string",
    "string(net.IP)string",
    "string(net.CIDR)string",
    "bytes(bytes)bytes",
    "bytes(string)bytes",
    "duration(duration)duration",
    "duration(int)duration",
    "duration(string)duration",
    "timestamp(timestamp)timestamp",
    "timestamp(int)timestamp",
    "timestamp(string)timestamp",
    // Sizes and texts.
    "size(string)int",
    "size(bytes)int",
    "size(list<A>)int",
    "size(map<A,B>)int",
    "string.size()int",
    "bytes.size()int",
    "list<A>.size()int",
    "map<A,B>.size()int",
    "string.startsWith(string)bool",
    "string.endsWith(string)bool",
    "string.contains(string)bool",
    "string.matches(string)bool",
    "matches(string,string)bool",
    "string.charAt(int)string",
    "string.indexOf(string)int",
    "string.indexOf(string,int)int",
    "string.lastIndexOf(string)int",
    "string.lastIndexOf(string,int)int",
    "list<string>.join()string",
    "list<string>.join(string)string",
    "string.lowerAscii()string",
    "string.upperAscii()string",
    "string.replace(string,string)string",
    "string.replace(string,string,int)string",
    "string.split(string)list<string>",
    "string.split(string,int)list<string>",
    "string.substring(int)string",
    "string.substring(int,int)string",
    "string.trim()string",
    "string.format(list<dyn>)string",
    "strings.quote(string)string",
    "string.find(string)string",
    "string.findAll(string)list<string>",
    "string.findAll(string,int)list<string>",
    // Times.
    "timestamp.getFullYear()int",
    "timestamp.getFullYear(string)int",
    "timestamp.getMonth()int",
    "timestamp.getMonth(string)int",
    "timestamp.getDayOfYear()int",
    "timestamp.getDayOfYear(string)int",
    "timestamp.getDayOfMonth()int",
    "timestamp.getDayOfMonth(string)int",
    "timestamp.getDate()int",
    "timestamp.getDate(string)int",
    "timestamp.getDayOfWeek()int",
    "timestamp.getDayOfWeek(string)int",
    "timestamp.getHours()int",
    "timestamp.getHours(string)int",
    "timestamp.getMinutes()int",
    "timestamp.getMinutes(string)int",
    "timestamp.getSeconds()int",
    "timestamp.getSeconds(string)int",
    "timestamp.getMilliseconds()int",
    "timestamp.getMilliseconds(string)int",
    "duration.getHours()int",
    "duration.getMinutes()int",
    "duration.getSeconds()int",
    "duration.getMilliseconds()int",
    // Optional values.
    "optional.of(A)optional<A>",
    "optional.ofNonZeroValue(A)optional<A>",
    "optional.none()optional<A>",
    "optional.unwrap(list<optional<A>>)list<A>",
    "list<optional<A>>.unwrapOpt()list<A>",
    "optional<A>.value()A",
    "optional<A>.hasValue()bool",
    "optional<A>.or(optional<A>)optional<A>",
    "optional<A>.orValue(A)A",
    // Lists and sets.
    "list<int>.sum()int",
    "list<uint>.sum()uint",
    "list<double>.sum()double",
    "list<duration>.sum()duration",
    "list<A>.indexOf(A)int",
    "list<A>.lastIndexOf(A)int",
    "list<A>.first()optional<A>",
    "list<A>.last()optional<A>",
    "list<A>.slice(int,int)list<A>",
    "list<list<A>>.flatten()list<A>",
    "list<dyn>.flatten(int)list<dyn>",
    "list<A>.distinct()list<A>",
    "list<A>.reverse()list<A>",
    "lists.range(int)list<int>",
    "sets.contains(list<A>,list<A>)bool",
    "sets.equivalent(list<A>,list<A>)bool",
    "sets.intersects(list<A>,list<A>)bool",
    // Quantities.
    "quantity(string)kubernetes.Quantity",
    "isQuantity(string)bool",
    "sign(kubernetes.Quantity)int",
    "kubernetes.Quantity.isGreaterThan(kubernetes.Quantity)bool",
    "kubernetes.Quantity.isLessThan(kubernetes.Quantity)bool",
    "kubernetes.Quantity.compareTo(kubernetes.Quantity)int",
    "kubernetes.Quantity.asApproximateFloat()double",
    "kubernetes.Quantity.asInteger()int",
    "kubernetes.Quantity.isInteger()bool",
    "kubernetes.Quantity.add(kubernetes.Quantity)kubernetes.Quantity",
    "kubernetes.Quantity.add(int)kubernetes.Quantity",
    "kubernetes.Quantity.sub(kubernetes.Quantity)kubernetes.Quantity",
    "kubernetes.Quantity.sub(int)kubernetes.Quantity",
    // Named formats.
    "format.named(string)optional<kubernetes.NamedFormat>",
    "kubernetes.NamedFormat.validate(string)optional<list<string>>",
    "format.dns1123Label()kubernetes.NamedFormat",
    "format.dns1123Subdomain()kubernetes.NamedFormat",
    "format.dns1035Label()kubernetes.NamedFormat",
    "format.qualifiedName()kubernetes.NamedFormat",
    "format.dns1123LabelPrefix()kubernetes.NamedFormat",
    "format.dns1123SubdomainPrefix()kubernetes.NamedFormat",
    "format.dns1035LabelPrefix()kubernetes.NamedFormat",
    "format.labelValue()kubernetes.NamedFormat",
    "format.uri()kubernetes.NamedFormat",
    "format.uuid()kubernetes.NamedFormat",
    "format.byte()kubernetes.NamedFormat",
    "format.date()kubernetes.NamedFormat",
    "format.datetime()kubernetes.NamedFormat",
    // Addresses.
    "ip(string)net.IP",
    "isIP(string)bool",
    "ip.isCanonical(string)bool",
    "net.IP.family()int",
    "net.IP.isUnspecified()bool",
    "net.IP.isLoopback()bool",
    "net.IP.isLinkLocalMulticast()bool",
    "net.IP.isLinkLocalUnicast()bool",
    "net.IP.isGlobalUnicast()bool",
    "cidr(string)net.CIDR",
    "isCIDR(string)bool",
    "net.CIDR.containsIP(string)bool",
    "net.CIDR.containsIP(net.IP)bool",
    "net.CIDR.containsCIDR(string)bool",
    "net.CIDR.containsCIDR(net.CIDR)bool",
    "net.CIDR.ip()net.IP",
    "net.CIDR.prefixLength()int",
    "net.CIDR.masked()net.CIDR",
    "url(string)kubernetes.URL",
    "isURL(string)bool",
    "kubernetes.URL.getScheme()string",
    "kubernetes.URL.getHost()string",
    "kubernetes.URL.getHostname()string",
    "kubernetes.URL.getPort()string",
    "kubernetes.URL.getEscapedPath()string",
    "kubernetes.URL.getQuery()map<string,list<string>>",
});

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void Into(Table& table) {
    Signature signature;
    const size_t open = text_.find('(');
    size_t dot = text_.substr(0, open).rfind('.');
    std::string name(text_.substr(0, open));
    if (dot != std::string_view::npos && !IsNamespace(text_.substr(0, dot))) {
      signature.member = true;
      name = text_.substr(dot + 1, open - dot - 1);
      signature.args.push_back(Next());
    }
    at_ = open + 1;
    while (text_[at_] != ')') {
      signature.args.push_back(Next());
      if (text_[at_] == ',') ++at_;
    }
    ++at_;
    signature.result = Next();
    table[name].push_back(std::move(signature));
  }

  TypePtr Next() {
    size_t end = at_;
    while (end < text_.size() && std::string_view("<>,()").find(text_[end]) == std::string_view::npos) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    const bool receiver = end < text_.size() && text_[end] == '(' && at_ == 0;
    if (receiver) word = word.substr(0, word.rfind('.'));
    if (word[0] == '.') word.remove_prefix(1);
    at_ = end;
    if (word.size() == 1) return Param(word);
    std::vector<TypePtr> params;
    if (at_ < text_.size() && text_[at_] == '<') {
      ++at_;
      while (true) {
        params.push_back(Next());
        if (text_[at_++] == '>') break;
      }
    }
    if (word == "list") return ListOf(params[0]);
    if (word == "map") return MapOf(params[0], params[1]);
    if (word == "optional") return OptionalOf(params[0]);
    if (word == "type") return TypeOf(params[0]);
    return FindTypeName(word);
  }

 private:
  static bool IsNamespace(std::string_view name) {
    return name == "optional" || name == "strings" || name == "sets" || name == "lists" || name == "format" ||
           name == "ip";
  }

  std::string_view text_;
  size_t at_ = 0;
};

Table Build() {
  Table table;
  for (const std::string_view one : kDeclarations) Reader(one).Into(table);
  const auto add = [&](const std::string& text) { Reader(text).Into(table); };
  static constexpr std::array<std::string_view, 8> kOrdered = {"int",    "uint",  "double",   "bool",
                                                               "string", "bytes", "duration", "timestamp"};
  for (const std::string op : {"_<_", "_<=_", "_>_", "_>=_"}) {
    for (const std::string_view type : kOrdered) add(op + "(" + std::string(type) + "," + std::string(type) + ")bool");
    for (const std::string left : {"int", "uint", "double"}) {
      for (const std::string right : {"int", "uint", "double"}) {
        if (left != right) add(op + "(" + left + "," + right + ")bool");
      }
    }
  }
  for (const std::string_view type : kOrdered) {
    const std::string list = "list<" + std::string(type) + ">";
    add(list + ".isSorted()bool");
    add(list + ".min()" + std::string(type));
    add(list + ".max()" + std::string(type));
    add(list + ".sort()" + list);
  }
  return table;
}

}  // namespace

const std::vector<Signature>* FindSignatures(std::string_view function) {
  static const Table& table = *new Table(Build());
  const auto found = table.find(function);
  return found == table.end() ? nullptr : &found->second;
}

TypePtr FindTypeName(std::string_view name) {
  static const auto& names = *new std::map<std::string_view, TypePtr>({
      {"dyn", Simple(Kind::kDyn)},
      {"int", Simple(Kind::kInt)},
      {"uint", Simple(Kind::kUint)},
      {"double", Simple(Kind::kDouble)},
      {"bool", Simple(Kind::kBool)},
      {"string", Simple(Kind::kString)},
      {"bytes", Simple(Kind::kBytes)},
      {"null_type", Simple(Kind::kNull)},
      {"duration", Simple(Kind::kDuration)},
      {"timestamp", Simple(Kind::kTimestamp)},
      {"google.protobuf.Duration", Simple(Kind::kDuration)},
      {"google.protobuf.Timestamp", Simple(Kind::kTimestamp)},
      {"list", ListOf(Simple(Kind::kDyn))},
      {"map", MapOf(Simple(Kind::kDyn), Simple(Kind::kDyn))},
      {"type", TypeOf(Simple(Kind::kDyn))},
      {"optional_type", OptionalOf(Simple(Kind::kDyn))},
      {"kubernetes.Quantity", Opaque("kubernetes.Quantity")},
      {"kubernetes.NamedFormat", Opaque("kubernetes.NamedFormat")},
      {"kubernetes.URL", Opaque("kubernetes.URL")},
      {"net.IP", Opaque("net.IP")},
      {"net.CIDR", Opaque("net.CIDR")},
  });
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace basalt::kubesim::cel
