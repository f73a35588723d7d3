#!/usr/bin/env bash
# Builds the program, and only that, with another compiler, and trains with the plugins that the given build made.
#   other_host.sh BUILD SOURCE COMPILER
set -euo pipefail
build=$1 source=$2 compiler=$3
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: $compiler is not installed"
  exit 77
fi
host=$build/tests/install/host_$compiler  # kept: the next run builds only what changed
log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
if ! { cmake -S "$source" -B "$host" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCONVOY_BUILD_TESTS=OFF &&
  cmake --build "$host" --target runner; } >"$log" 2>&1; then
  cat "$log"
  exit 1
fi
[ -z "$(find "$host" -name "*.convoy.so")" ] || { echo "the host built plugins of its own"; exit 1; }

cat >"$work/experiment.toml" <<'TOML'
[run]
steps = 20
[model]
use = "lenet"
[device]
use = "cpu"
[data]
use = "shapes"
batch = 16
train_limit = 320
eval_limit = 64
[optimizer]
lr = 0.02
TOML
cd "$work"
for device in cpu reference mock; do
  "$host/bin/runner" experiment.toml --set device.use="$device" --plugin-dir "$build/lib/convoy/plugins" --out "$device" >"$log" 2>&1 ||
    { cat "$log"; exit 1; }
  grep -q '"status": *"done"' "$device"/*/summary.json || { cat "$device"/*/summary.json; exit 1; }
done
loss() { grep -oE "\"train_loss\": *[-0-9.e]+" "$1"/*/summary.json | grep -oE '[-0-9.e]+$'; }
# The same program by the compiler of the build: what crosses the border must not depend on who compiled the host.
"$build/bin/runner" experiment.toml --set device.use=reference --out same >"$log" 2>&1 || { cat "$log"; exit 1; }
echo "lenet on reference: loss $(loss reference) in a host by $compiler, $(loss same) in this build's"
# Equal up to what two compilers make of the host's own float arithmetic (initial values, schedule): 1e-4 of a loss near 2.
awk -v x="$(loss reference)" -v y="$(loss same)" 'BEGIN { d = x - y; exit !(d < 0.0002 && d > -0.0002) }'
echo "ok"
