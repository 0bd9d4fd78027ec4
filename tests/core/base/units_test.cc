#include "core/base/units.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace twinrun {
namespace {

TEST(ParseTime, EveryUnitIsWholePicoseconds) {
  EXPECT_EQ(parse_time("7ps"), Time{7});
  EXPECT_EQ(parse_time("200ns"), Time{200'000});
  EXPECT_EQ(parse_time("1.5us"), Time{1'500'000});
  EXPECT_EQ(parse_time("1.5µs"), Time{1'500'000});
  EXPECT_EQ(parse_time("3ms"), Time{3'000'000'000});
  EXPECT_EQ(parse_time("2s"), Time{2'000'000'000'000});
  EXPECT_EQ(parse_time("1min"), Time{60'000'000'000'000});
  EXPECT_EQ(parse_time("1h"), Time{3'600'000'000'000'000});
}

TEST(ParseTime, BlanksBeforeTheUnitAreFine) { EXPECT_EQ(parse_time("1.5 us"), Time{1'500'000}); }

TEST(ParseTime, FractionsOfAPicosecondAreRoundedToTheNearest) {
  EXPECT_EQ(parse_time("0.4ps"), Time{0});
  EXPECT_EQ(parse_time("0.0015ns"), Time{2});
}

TEST(ParseTime, OnlyZeroNeedsNoUnit) {
  EXPECT_EQ(parse_time("0"), Time{0});
  EXPECT_FALSE(parse_time("1"));
}

TEST(ParseTime, WhatIsNotATimeGivesNothing) {
  for (const char* text : {"", "us", "1.5", "-1us", "1.5 kg", "1us ", "us1", "1 u s", "nan us",
                           "inf", "infs", "1e400s", "0x10us", "1,5us", "25GB/s", "80GiB"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(ParseTime, BeyondTheRangeGivesNothing) {
  EXPECT_TRUE(parse_time("2500h"));  // 104 days; 2^63 ps are 106.75 days
  EXPECT_FALSE(parse_time("2600h"));
}

TEST(ParseBytes, GbIsTenToTheNineAndGibIsTwoToTheThirty) {
  EXPECT_EQ(parse_bytes("80GB"), Bytes{80'000'000'000});
  EXPECT_EQ(parse_bytes("80GiB"), Bytes{std::int64_t{80} << 30});
  EXPECT_EQ(parse_bytes("1KiB"), Bytes{1024});
  EXPECT_EQ(parse_bytes("1kB"), Bytes{1000});
  EXPECT_EQ(parse_bytes("2MiB"), Bytes{2 << 20});
  EXPECT_EQ(parse_bytes("1TiB"), Bytes{std::int64_t{1} << 40});
  EXPECT_EQ(parse_bytes("4096B"), Bytes{4096});
}

TEST(ParseBytes, BitsAreNotBytes) { EXPECT_FALSE(parse_bytes("80Gb")); }

TEST(ParseBandwidth, CapitalBIsBytesSmallBIsBits) {
  EXPECT_EQ(parse_bandwidth("25GB/s"), Bandwidth{25e9});
  EXPECT_EQ(parse_bandwidth("200Gb/s"), Bandwidth{25e9});
  EXPECT_EQ(parse_bandwidth("200Gbps"), Bandwidth{25e9});
  EXPECT_EQ(parse_bandwidth("10Gbit/s"), Bandwidth{1.25e9});
  EXPECT_EQ(parse_bandwidth("1.6Tb/s"), Bandwidth{200e9});
  EXPECT_EQ(parse_bandwidth("1GiB/s"), Bandwidth{1073741824.0});
}

TEST(ParseBandwidth, ASizeWithoutPerSecondIsNoRate) { EXPECT_FALSE(parse_bandwidth("25GB")); }

TEST(ParseBandwidth, WhatOverflowsGivesNothing) { EXPECT_FALSE(parse_bandwidth("1e300GB/s")); }

TEST(ParseFlopRate, BothSpellingsOfTeraflops) {
  EXPECT_EQ(parse_flop_rate("312TFLOP/s"), FlopRate{312e12});
  EXPECT_EQ(parse_flop_rate("312TFLOPS"), FlopRate{312e12});
  EXPECT_EQ(parse_flop_rate("1.5PFLOP/s"), FlopRate{1.5e15});
  EXPECT_FALSE(parse_flop_rate("312T"));
  EXPECT_FALSE(parse_flop_rate("1e305TFLOP/s"));
}

TEST(ToText, ThreeFiguresInTheShortestUnit) {
  EXPECT_EQ(to_text(Time{1'500'000}), "1.50 us");
  EXPECT_EQ(to_text(Time{12'345'000}), "12.3 us");
  EXPECT_EQ(to_text(Time{123'456'000'000}), "123 ms");
  EXPECT_EQ(to_text(Bytes{1536}), "1.50 KiB");
  EXPECT_EQ(to_text(Bandwidth{12.5e9}), "12.5 GB/s");
  EXPECT_EQ(to_text(FlopRate{19.5e12}), "19.5 TFLOP/s");
}

TEST(ToText, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(to_text(Time{2'000'000'000'000}), "2 s");
  EXPECT_EQ(to_text(Bytes{std::int64_t{80} << 30}), "80 GiB");
  EXPECT_EQ(to_text(Bandwidth{25e9}), "25 GB/s");
  EXPECT_EQ(to_text(Bytes{0}), "0 B");
}

TEST(ToText, RoundingMovesOnToTheNextUnit) {
  EXPECT_EQ(to_text(Time{999'999'999}), "1.00 ms");
  EXPECT_EQ(to_text(Bandwidth{999.9e9}), "1.00 TB/s");
}

TEST(ToText, RoundingKeepsThreeFigures) {
  EXPECT_EQ(to_text(Time{9'999'000}), "10.0 us");
  EXPECT_EQ(to_text(Time{99'990'000}), "100 us");
}

TEST(ToText, NegativeTimesKeepTheirSign) {
  EXPECT_EQ(to_text(Time{-1'500'000}), "-1.50 us");
  EXPECT_TRUE(to_text(Time{std::numeric_limits<std::int64_t>::min()}).starts_with("-"));
}

TEST(TransferTime, IsBytesOverRate) {
  EXPECT_EQ(transfer_time(Bytes{1'000'000'000}, gigabytes_per_second(1)), Time{1'000'000'000'000});
  EXPECT_EQ(transfer_time(Bytes{1}, gigabytes_per_second(1)), Time{1000});
  EXPECT_EQ(transfer_time(Bytes{0}, gigabytes_per_second(1)), Time{0});
}

TEST(TransferTime, IsRoundedUp) {
  EXPECT_EQ(transfer_time(Bytes{1}, gigabytes_per_second(3)), Time{334});  // 333.3
}

TEST(TransferTime, AWholeNumberOfPicosecondsIsNotRoundedAtAll) {
  for (int gb = 1; gb <= 1000; ++gb) {
    EXPECT_EQ(transfer_time(Bytes{gb}, gigabytes_per_second(gb)), Time{1000}) << gb << " GB/s";
  }
}

TEST(TransferTime, WhatNeverEndsIsTheLargestTime) {
  EXPECT_EQ(transfer_time(Bytes{std::int64_t{1} << 40}, Bandwidth{1e-3}),
            Time{std::numeric_limits<std::int64_t>::max()});
}

TEST(TransferTime, NeedsABandwidth) {
  EXPECT_THROW(transfer_time(Bytes{1}, Bandwidth{0}), std::logic_error);
}

TEST(Conversions, GoThereAndBack) {
  EXPECT_EQ(to_gigabytes_per_second(gigabytes_per_second(12.5)), 12.5);
  EXPECT_EQ(microseconds(1.5), Time{1'500'000});
  EXPECT_EQ(microseconds(-1.5), Time{-1'500'000});
  EXPECT_DOUBLE_EQ(to_microseconds(microseconds(1.5)), 1.5);
  EXPECT_DOUBLE_EQ(to_seconds(Time{1'000'000'000'000}), 1.0);
}

}  // namespace
}  // namespace twinrun
