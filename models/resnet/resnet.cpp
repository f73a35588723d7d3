// The model plugin `resnet`: choice of the network by depth and version.
#include "resnet.hpp"

#include "cifar.hpp"
#include "post_activation.hpp"
#include "pre_activation.hpp"
#include "stages.hpp"

namespace convoy::resnet {
namespace {

constexpr const char* kDefaultVersion = "v1.5";

bool is_cifar_depth(int64_t d) { return d == 20 || d == 32 || d == 44 || d == 56; }
bool is_imagenet_depth(int64_t d) { return d == 18 || d == 34 || d == 50 || d == 101 || d == 152; }

}  // namespace

Resnet::Resnet(const Options& o)
    : depth_(sdk::get(o, "depth", 50)), version_(sdk::get(o, "version", kDefaultVersion)) {
  if (!is_cifar_depth(depth_) && !is_imagenet_depth(depth_))
    throw sdk::Error(Code::invalid, "depth = " + std::to_string(depth_) +
                                        ": known are 18, 34, 50, 101, 152 (ImageNet) and 20, 32, 44, 56 (CIFAR)");
  if (version_ != "v1" && version_ != "v1.5" && version_ != "v2")
    throw sdk::Error(Code::invalid, "version = \"" + version_ + "\": known are \"v1\", \"v1.5\" and \"v2\"");
  if (is_cifar_depth(depth_) && version_ != kDefaultVersion)
    throw sdk::Error(Code::invalid, "version = \"" + version_ + "\": depth " + std::to_string(depth_) +
                                        " exists in one form only; leave version out, or take an ImageNet depth");
}

bool Resnet::for_cifar() const { return is_cifar_depth(depth_); }

sdk::MadeFor Resnet::made_for() const {
  return for_cifar() ? sdk::MadeFor{3, 32, 32, 10} : sdk::MadeFor{3, 224, 224, 1000};
}

sdk::Var Resnet::logits(sdk::Graph& g, sdk::Var images, int64_t classes) const {
  if (for_cifar()) return cifar(g, images, static_cast<int>((depth_ - 2) / 6), classes);
  const Stages stages = stages_of(depth_);
  if (version_ == "v2") return pre_activation(g, images, stages, classes);
  return post_activation(g, images, stages, version_ == "v1.5", classes);
}

std::pair<sdk::Var, sdk::Var> Resnet::build(sdk::Graph& g, const ModelSpec& s) {
  const sdk::Var labels_in = labels(g, s);
  const sdk::Var out = logits(g, images(g, s), s.classes);
  return {g.xent(out, labels_in), out};
}

}  // namespace convoy::resnet

CONVOY_PLUGIN(model, convoy::resnet::Resnet, "resnet")
