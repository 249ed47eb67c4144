#include "client/cli/validation/measurement_writer.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace foretoken::cli {
namespace {

// Fields of a deployment that have no column.
const std::set<std::string>& WithoutColumn() {
  static const auto& fields = *new std::set<std::string>{
      "devices_per_node",        "scale_out_bytes_per_second", "attention_kernel",      "unfused_elementwise",
      "roofline_exponent",       "price_per_device_hour",      "expert_load_imbalance", "expert_exchange",
      "prefill_passes_in_flight"};
  return fields;
}

// Sets every field of the message that `without` does not name, each number to another value.
void SetAll(google::protobuf::Message& message, const std::set<std::string>& without) {
  const auto* type = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* field = type->field(i);
    if (without.contains(field->name())) continue;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE:
        SetAll(*reflection->MutableMessage(&message, field), WithoutColumn());
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(&message, field, field->name() == "engine" ? "vllm@0.7.3+a,b" : "a \"model\"");
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(&message, field, field->enum_type()->value_count() - 1);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(&message, field, (field->name().find("spread") == std::string::npos ? 1000 : 10) + i);
        break;
      default:
        reflection->SetDouble(&message, field, 1 / (3.0 + i));
    }
  }
}

Measurement Full() {
  Measurement row;
  row.hardware_id = "gpu";
  SetAll(row.sample, {});
  row.source = "a run,\nof two lines";
  for (const std::string& column : PercentileColumns()) {
    row.percentiles[column] = 1 / (100.0 + static_cast<double>(row.percentiles.size()));
  }
  return row;
}

MeasurementFile Read(const std::string& text) {
  std::istringstream in(text);
  return ReadMeasurements("m.csv", in).value();
}

void ExpectSame(const Measurement& read, const Measurement& written) {
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.hardware_id, written.hardware_id);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read.sample, written.sample))
      << read.sample.ShortDebugString() << "\n"
      << written.sample.ShortDebugString();
  EXPECT_EQ(read.source, written.source);
  EXPECT_EQ(read.percentiles, written.percentiles);
}

TEST(MeasurementWriterTest, EveryFieldReadsBackAsItWasWritten) {
  const Measurement row = Full();
  ExpectSame(Read(MeasurementHeader() + MeasurementLine(row)).rows.at(0), row);
  ExpectSame(Read(MeasurementsCsv({row})).rows.at(0), row);
}

TEST(MeasurementWriterTest, EveryColumnIsWritten) {
  const std::vector<std::string> cells = MeasurementCells(Full());
  ASSERT_EQ(cells.size(), MeasurementColumns().size());
  for (size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].empty(), MeasurementColumns()[i] == "max_num_batched_tokens") << MeasurementColumns()[i];
  }
}

TEST(MeasurementWriterTest, WhatARowDoesNotHaveIsBlank) {
  Measurement row;
  row.hardware_id = "gpu";
  row.sample.set_model_id("llama");
  row.sample.set_batch_size(4);
  row.sample.set_prompt_tokens(100);
  row.sample.set_output_tokens(10);
  EXPECT_EQ(MeasurementsCsv({row}), "hardware,model,batch_size,prompt_tokens,output_tokens\ngpu,llama,4,100,10\n");
  Measurement timed = row;
  timed.sample.mutable_deployment()->set_engine("vllm");
  timed.percentiles["itl_p99_s"] = 0.25;
  EXPECT_EQ(MeasurementsCsv({row, timed}),
            "hardware,model,engine,batch_size,prompt_tokens,output_tokens,itl_p99_s\n"
            "gpu,llama,,4,100,10,\n"
            "gpu,llama,vllm,4,100,10,0.25\n");
}

TEST(MeasurementWriterTest, PercentilesAreReadAndNamedAsUnused) {
  const std::string header = "hardware,model,batch_size,prompt_tokens,output_tokens,ttft_p50_s,e2e_p99_s,itl_p90_s\n";
  const MeasurementFile file = Read(header + "g,m,1,2,3,0.5,,\ng,m,1,2,3,,1.5,\n");
  EXPECT_EQ(file.rows[0].percentiles, (std::map<std::string, double>{{"ttft_p50_s", 0.5}}));
  EXPECT_EQ(file.rows[1].percentiles, (std::map<std::string, double>{{"e2e_p99_s", 1.5}}));
  EXPECT_EQ(NoteOfUnused("m.csv", file), "note: m.csv: no estimate uses ttft_p50_s, e2e_p99_s\n");
  EXPECT_EQ(NoteOfUnused("m.csv", Read(header + "g,m,1,2,3,,,\n")), "");
  EXPECT_EQ(Read(header + "g,m,1,2,3,-1,,\n").rows[0].status.message(),
            "ttft_p50_s \"-1\"; allowed: finite seconds above 0");
}

}  // namespace
}  // namespace foretoken::cli
