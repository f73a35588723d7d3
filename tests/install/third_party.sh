#!/usr/bin/env bash
# Installs the build, builds the third party's plugins against the package with the given compiler, drops them into a
# folder and runs experiments with them. Nothing of Convoy is built again.
#   third_party.sh BUILD SOURCE COMPILER
set -euo pipefail
build=$1 source=$2 compiler=$3
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: $compiler is not installed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log"
cmake -S "$source/tests/install/third_party" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" --verbose >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q "model 'toynet' 0.1.0: ok" "$work/log" || { echo "the plugin was not checked after its build"; cat "$work/log"; exit 1; }
mkdir "$work/drop" && chmod 755 "$work/drop"
find "$work/build" -name '*.convoy.so' -exec cp {} "$work/drop/" \;
chmod 644 "$work/drop"/*
for file in "$work/drop"/*; do
  # Two exports, no run path but its own folder, nothing of Convoy or a vendor behind it.
  exports=$(nm -D --defined-only "$file" | awk '{ print $3 }' | sort | xargs)
  [ "$exports" = "convoy_manifest convoy_plugin_entry_1" ] || { echo "$file exports $exports"; exit 1; }
  dynamic=$(readelf -dW "$file")
  run_path=$(grep -oE '(RUNPATH|RPATH).*' <<<"$dynamic" | grep -oE '\[.*\]' || true)
  [ -z "$run_path" ] || [ "$run_path" = '[$ORIGIN]' ] || { echo "$file has the run path $run_path"; exit 1; }
  needed=$(grep NEEDED <<<"$dynamic" | grep -oE '\[.*\]' | grep -vE '^\[(libstdc\+\+|libm|libgcc_s|libc)\.so' || true)
  [ -z "$needed" ] || { echo "$file needs $needed"; exit 1; }
done

runner=$work/prefix/bin/runner
before=$(find "$work/prefix" -type f -exec sha256sum {} + | sort | sha256sum)
cat >"$work/experiment.toml" <<'TOML'
[run]
steps = 60
[model]
use = "toynet"
width = 8
[device]
use = "cpu"
[data]
use = "shapes"
batch = 16
train_limit = 960
eval_limit = 256
[optimizer]
lr = 0.02
TOML
cd "$work"
"$runner" plugins --plugin-dir "$work/drop" | grep -E 'toynet|tiny|logistic'
"$runner" experiment.toml --plugin-dir "$work/drop" --out a >/dev/null
sed -e 's/toynet/logistic/' -e '/^width/d' -e 's/"cpu"/"tiny"/' -e 's/^lr = .*/lr = 0.001/' experiment.toml >tiny.toml
"$runner" tiny.toml --plugin-dir "$work/drop" --out b >/dev/null
sed -e 's/"tiny"/"reference"/' tiny.toml >reference.toml
"$runner" reference.toml --plugin-dir "$work/drop" --out c >/dev/null
after=$(find "$work/prefix" -type f -exec sha256sum {} + | sort | sha256sum)
[ "$before" = "$after" ] || { echo "the installation changed"; exit 1; }
field() { grep -oE "\"$2\": *[-0-9.e]+" "$1"/*/summary.json | head -n 1 | grep -oE '[-0-9.e]+$'; }
echo "toynet on cpu: loss $(field a train_loss), top-1 $(field a top1)"
echo "logistic on tiny: loss $(field b train_loss); on reference: $(field c train_loss)"
# Both are single precision with sums in other orders: 1e-3 of a loss near 2.
awk -v x="$(field b train_loss)" -v y="$(field c train_loss)" 'BEGIN { d = x - y; exit !(d < 0.002 && d > -0.002) }'
# A tiny experiment is refused where the backend lacks a kernel, with the node and the reason.
sed -e 's/"cpu"/"tiny"/' experiment.toml >refused.toml
if "$runner" refused.toml --plugin-dir "$work/drop" --out d 2>refused.txt; then exit 1; fi
grep -q 'error\[P501\]' refused.txt
grep -q 'conv2d' refused.txt
echo "ok"
