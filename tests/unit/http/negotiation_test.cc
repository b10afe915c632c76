#include "http/negotiation.h"

#include <string_view>

#include "support/test_headers.h"

namespace pex::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kOpenMetrics = 0;
constexpr std::size_t kText = 1;
constexpr Offer kFormats[] = {{"application/openmetrics-text", "1.0.0"}, {"text/plain", "0.0.4"}};

/// What a client sends as Accept, and what it gets.
struct AcceptCase {
  std::string name;
  std::string accept;
  std::size_t offer;
};

const std::vector<AcceptCase> kClients = {
    {"Prometheus2",
     "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     kOpenMetrics},
    {"Prometheus2BeforeOpenMetrics1",
     "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", kText},
    {"Prometheus3",
     "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;"
     "q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
     "application/openmetrics-text;version=0.0.1;q=0.4,"
     "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
     kOpenMetrics},
    {"Prometheus3ForTextOnly",
     "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     kText},
    {"Browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", kText},
    {"Curl", "*/*", kText},
    {"NoHeader", "", kText},
    {"VictoriaMetrics", "text/plain;version=0.0.4;q=1,*/*;q=0.1", kText},
};

const std::vector<AcceptCase> kRanges = {
    {"ANameWithoutAVersion", "application/openmetrics-text", kOpenMetrics},
    {"AnotherVersion", "application/openmetrics-text;version=2.0.0", kText},
    {"AVersionInQuotes", "application/openmetrics-text;version=\"1.0.0\"", kOpenMetrics},
    {"CapitalsAndBlanks", "  Application/OpenMetrics-Text ; VERSION = 1.0.0 ; Q = 1 ",
     kOpenMetrics},
    {"UnknownParameters",
     "application/openmetrics-text;a=\"x,y;q=0\";b;=;charset=utf-8;version=1.0.0", kOpenMetrics},
    {"TheHigherQuality", "application/openmetrics-text;q=0.4,text/plain;q=0.5", kText},
    {"AThousandth", "application/openmetrics-text;q=0.501,text/plain;q=0.5", kOpenMetrics},
    {"MoreDigitsThanThree", "application/openmetrics-text;q=0.30000000000000004,text/plain;q=0.2",
     kOpenMetrics},
    {"EqualOnes", "text/plain,application/openmetrics-text", kOpenMetrics},
    {"EqualOnesOfWhichOneNamesTheVersion", "text/plain;version=0.0.4,application/openmetrics-text",
     kText},
    {"ANameAndAWildcardOfOneQuality", "*/*,application/openmetrics-text", kOpenMetrics},
    {"AWildcardAboveTheName", "*/*,application/openmetrics-text;q=0.9", kText},
    {"AWildcardOverruledByAName", "*/*,text/plain;q=0.1,application/openmetrics-text;q=0.2",
     kOpenMetrics},
    {"ANameOverruledByItsVersion",
     "application/openmetrics-text;q=0.5,application/openmetrics-text;version=1.0.0;q=0.1,"
     "text/plain;q=0.2",
     kText},
    {"AWildcardOfTheFallbacksType", "text/*,application/openmetrics-text;q=0.9", kText},
    {"AWildcardOfAnotherType", "application/*", kText},
    {"AllOfTypesThatWeLack", "image/png", kText},
    {"NotAcceptable", "application/openmetrics-text;q=0", kText},
    {"NothingButOne", "*/*;q=0,application/openmetrics-text;q=0.1", kOpenMetrics},
    {"NothingAtAll", "*/*;q=0,application/openmetrics-text;q=0,text/plain;q=0", kText},
    {"NotTheFallback", "text/plain;q=0,application/openmetrics-text;q=0.001", kOpenMetrics},
    {"EmptyElements", ",,application/openmetrics-text,,", kOpenMetrics},
};

const std::vector<AcceptCase> kMalformed = {
    {"NoQuality", "application/openmetrics-text;q=", kText},
    {"AWordForAQuality", "application/openmetrics-text;q=high", kText},
    {"AQualityAboveOne", "application/openmetrics-text;q=1.1", kText},
    {"AQualityOfTwo", "application/openmetrics-text;q=2", kText},
    {"ANegativeQuality", "application/openmetrics-text;q=-1", kText},
    {"AQualityWithAnExponent", "application/openmetrics-text;q=0.1e1", kText},
    {"AQuoteThatIsNeverClosed", "a/b;c=\"x,application/openmetrics-text", kText},
    {"AnEscapeAtTheEnd", "a/b;c=\"\\", kText},
    {"ASlash", "/", kText},
    {"AStar", "*", kText},
    {"HalfAName", "application/", kText},
    {"OneBadElementAmongGoodOnes", "text/plain;q=x,application/openmetrics-text;q=0.1",
     kOpenMetrics},
};

TEST(BestOfferTest, IsForTheClient) {
  for (const auto& rows : {kClients, kRanges, kMalformed}) {
    for (const AcceptCase& row : rows) {
      EXPECT_EQ(best_offer(row.accept, kFormats), row.offer) << row.name;
    }
  }
}

TEST(BestOfferTest, IsTheOnlyOneWhateverIsAskedFor) {
  constexpr Offer kOne[] = {{"text/html"}};

  EXPECT_EQ(best_offer("application/json", kOne), 0u);
  EXPECT_EQ(best_offer("text/html;version=5", kOne), 0u);
}

/// Texts made of what headers are made of, so that many are nearly right.
rc::Gen<std::string> header_text() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "application/openmetrics-text", "text/plain", "*/*", "text/*", "gzip", ";", ",", "=", "q",
          "q=0", "q=0.5", "q=1", "version=1.0.0", "version", "\"", "\\", " ", "\t", "*", "/", "x")),
      [](const std::vector<std::string>& pieces) {
        std::string text;
        for (const std::string& piece : pieces) text += piece;
        return text;
      });
}

RC_GTEST_PROP(BestOfferTest, IsOneOfTheOffersForAnyBytes, (const std::string& accept)) {
  RC_ASSERT(best_offer(accept, kFormats) < std::size(kFormats));
}

RC_GTEST_PROP(BestOfferTest, IsTheFallbackUnlessTheOtherIsNamed, ()) {
  const std::string accept = *header_text();

  const std::size_t offer = best_offer(accept, kFormats);

  RC_ASSERT(offer == kText || accept.find("application/openmetrics-text") != std::string::npos);
}

RC_GTEST_PROP(BestOfferTest, IsTheSameWithAnElementThatCannotBeHad, ()) {
  const std::string accept = *header_text();
  RC_PRE(accept.find('"') == std::string::npos);

  RC_ASSERT(best_offer(accept + ",image/png", kFormats) == best_offer(accept, kFormats));
}

TEST(TakesGzipTest, OnlyWhenTheClientNamesIt) {
  for (const char* taken : {"gzip", "GZIP", "x-gzip", "gzip, deflate, br, zstd",
                            "br;q=1, gzip;q=0.1", "deflate,gzip ; q=1.0", "zstd,gzip;q=0.001"}) {
    EXPECT_TRUE(takes_gzip(taken)) << taken;
  }
  for (const char* refused :
       {"", "identity", "*", "deflate", "gzip;q=0", "gzip;q=0.000", "gzip;q=x", "gzipped", "gzip2",
        "a=\"gzip\"", "gzip;q=0, *", "\"gzip\""}) {
    EXPECT_FALSE(takes_gzip(refused)) << refused;
  }
}

TEST(TakesGzipTest, WhateverTheElementsBeforeItSay) {
  for (const char* taken :
       {"identity;q=0, gzip", "br;q=0,gzip", "*;q=0, gzip", "br;q=x, gzip",
        "deflate;q=0;a=\"gzip, br\", x-gzip", "a/b, gzip", ", ,gzip", "gzip;q=0, x-gzip"}) {
    EXPECT_TRUE(takes_gzip(taken)) << taken;
  }
  for (const char* refused : {"identity, gzip;q=0", "br, x-gzip;q=0, gzip;q=0.0", "gzip;q=x, br",
                              "deflate;a=\"x, gzip\""}) {
    EXPECT_FALSE(takes_gzip(refused)) << refused;
  }
}

RC_GTEST_PROP(TakesGzipTest, NothingThatDoesNotSayGzip, ()) {
  const std::string text = *header_text();

  RC_ASSERT(!takes_gzip(text) || text.find("gzip") != std::string::npos);
}

TEST(QueryValuesTest, AreThoseOfTheNameInTheirOrder) {
  EXPECT_THAT(query_values("collect[]=core&exclude[]=x&collect[]=energy", "collect[]"),
              ElementsAre("core", "energy"));
  EXPECT_THAT(query_values("collect%5B%5D=core&collect%5b]=a", "collect[]"),
              ElementsAre("core", "a"));
}

TEST(QueryValuesTest, AreDecoded) {
  EXPECT_THAT(query_values("a=one+two&a=%2B%26%3d&a=%C3%9F&a=x=y", "a"),
              ElementsAre("one two", "+&=", "ß", "x=y"));
}

TEST(QueryValuesTest, KeepAPercentSignThatStartsNothing) {
  EXPECT_THAT(query_values("a=100%&a=%zz&a=%4&a=%", "a"), ElementsAre("100%", "%zz", "%4", "%"));
}

TEST(QueryValuesTest, MayBeEmptyOrNone) {
  EXPECT_THAT(query_values("a&a=&&b=1", "a"), ElementsAre("", ""));
  EXPECT_THAT(query_values("", "a"), IsEmpty());
  EXPECT_THAT(query_values("aa=1&A=2", "a"), IsEmpty());
  EXPECT_THAT(query_values("&&", ""), IsEmpty());
}

RC_GTEST_PROP(QueryValuesTest, AreGivenBackAsTheyWereSent, (const std::string& value)) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string query = "x=1&a=";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    ((query += '%') += kHex[byte >> 4]) += kHex[byte & 0xf];
  }

  RC_ASSERT(query_values(query + "&y=2", "a") == std::vector<std::string>{value});
}

RC_GTEST_PROP(QueryValuesTest, AreFoundInAnyBytesWithoutHarm, (const std::string& query)) {
  for (const std::string& value : query_values(query, "a")) RC_ASSERT(value.size() <= query.size());
}

}  // namespace
}  // namespace pex::http
