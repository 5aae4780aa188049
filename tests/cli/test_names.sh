#!/usr/bin/env bash
# Names of C++ programs as people and programs see them, of recordings and of converted ones.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
command -v g++ >/dev/null || { echo "SKIPPED: there is no g++"; exit 77; }

cat >names.cc <<'END'
#include <map>
#include <string>
#include <vector>
namespace app {
template <class T> T fill(std::vector<T> &v, int n)
{
    for (int i = 0; i < n; i++)
        v.push_back(T(i));
    return v[0];
}
namespace { int hidden(int x) { return x + 1; } }
struct Store {
    std::map<std::string, std::vector<int>> values;
    void add(const std::string &key, int value) { values[key].push_back(value); }
    void add(int key, int value) { add(std::to_string(key), value); }
    operator std::string() const { return "store"; }
};
}
int main()
{
    std::vector<int> numbers;
    app::Store store;
    app::fill(numbers, 3);
    store.add(1, 2);
    std::string text = store;
    auto twice = [&](int x) { return x + (int)numbers.size(); };
    return twice(app::hidden(3)) + (int)text.size() == 0;
}
END
g++ -g -O0 -finstrument-functions names.cc -o names || fail "g++"
status 0 "$T" record --no-patch -o run.ttape ./names

# wide FILE: it has no row of more than 170 columns, or in a report no function of more than 64 (its
# columns of times are wider where the program waited): longer names are cut; no std::string in full
wide() {
    checks=$((checks + 1))
    python3 - "$1" <<'END' || fail "$1: see above"
import sys
name_at = None
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    if line == "" or line.endswith(" IDLE  FUNCTION"):
        name_at = line.rfind("FUNCTION") if line else None
    most = 170 if name_at is None else name_at + 64
    if len(line) > most or "basic_string<char," in line:
        sys.exit(print(line) or 1)
END
}

status 0 "$T" report run.ttape
wide out
has out 'TOTAL +SELF +OFF CPU +SELF % +CALLS +MEAN +MIN +MAX +DEVIATION +IDLE +FUNCTION'
has out ' app::fill$'
has out ' app::Store::add\(int, int\)$'
has out ' app::Store::add\(std::string const&, int\)$'
has out ' std::map<…>::operator\[\]$'
has out ' app::Store::operator std::string$'
has out ' app::\(anonymous namespace\)::hidden$'
has out ' main::\{lambda#1\}::operator\(\)$'
cp out shown
for verb in "last --all" slow "tree --full" tree graph "graph --list" "diff run.ttape"; do
    # shellcheck disable=SC2086 # words
    status 0 "$T" $verb run.ttape
    wide out
done
status 0 "$T" dump run.ttape
has out 'std::to_string'
has out 'std::map<…>::operator\[\]'

# names are equal wherever they are shown
status 0 "$T" report run.ttape --names simple --json
python3 - <<'END' >names.json.txt
import json
print("\n".join(sorted(row["name"] for row in json.load(open("out"))["rows"])))
END
status 0 "$T" export --format csv run.ttape --names simple -o run.csv
python3 - <<'END' >names.csv.txt
import csv
print("\n".join(sorted({row["symbol"] for row in csv.DictReader(open("run.csv"))}
                       - {"", "tracetape:process_end"})))
END
same names.json.txt names.csv.txt
sed -e '1,/ FUNCTION$/d' -e '/^$/,$d' shown | # rows only; a time of nothing is 0, without a unit
    sed -E 's/^( *[0-9.,]+( [num]?s)?)+ +//' | sort >names.shown.txt
lines names.shown.txt "$(wc -l <names.json.txt)"
checks=$((checks + 1))
[ "$(sort -u names.json.txt | wc -l)" -eq "$(wc -l <names.json.txt)" ] ||
    fail "two functions have one name"

# full, and mangled where they are so
status 0 "$T" report run.ttape --json
has out '"name": "int app::fill..003cint>\(std::vector'
status 0 "$T" report run.ttape --names full
has out 'int app::fill<int>\(std::vector<int, std::allocator<int> >&, int\)$'
status 2 "$T" report run.ttape --names short
status 0 "$T" symbolize run.ttape -o mangled.ttape --again --no-demangle
status 0 "$T" report mangled.ttape --names mangled
has out '_ZN3app5StoreC'
status 0 "$T" report mangled.ttape
sed 1d out >one
status 0 "$T" report run.ttape
sed 1d out >two
same one two
status 0 "$T" export --format folded mangled.ttape -o one.folded
status 0 "$T" export --format folded run.ttape -o two.folded
same one.folded two.folded
status 0 "$T" dump --format csv mangled.ttape
mv out one
status 0 "$T" dump --format csv run.ttape
same one out
status 0 "$T" dump --format csv mangled.ttape --names mangled
has out ',_ZN3app4fill'
status 0 "$T" diff run.ttape mangled.ttape --names full
status 0 "$T" last run.ttape --all --limit 1000 --names full
has out 'int app::fill<int>\(std::vector<int, std::allocator<int> >&, int\)'

# without symbols
cp names stripped
strip stripped
status 0 "$T" record --no-patch -o stripped.ttape ./stripped
has err "'.*/stripped' is stripped \(stripped\+0x[0-9a-f]+\): .*debug"
status 3 "$T" symbolize stripped.ttape -o again.ttape
has err 'at [0-9]+ of [0-9]+ addresses, 0x[0-9a-f]+ the first: it is stripped'
status 0 "$T" report stripped.ttape
has out ' stripped\+0x'

# a name that the demangler does not get over stays, the others do not
cat >in.txt <<'END'
1 1 enter _ZN1a1bEv
2 1 enter _Zebra
3 1 enter "RunTask (main)"
4 1 enter _RNvC7mycrate3foo
END
status 0 "$T" convert in.txt -o odd.ttape
status 0 "$T" report odd.ttape
has out ' a::b$'
has out ' _Zebra$'
has out ' RunTask \(main\)$'
has out ' mycrate::foo$'

# filters: what is shown, in full, as it is
for name in '^app::fill$' '^int app::fill<int>'; do
    status 0 "$T" report run.ttape --function "$name"
    has out ' app::fill$'
    status 0 "$T" report run.ttape --group "$name"
    has out "^ *[0-9]"
done
status 0 "$T" report mangled.ttape --function _ZN3app4fill
has out ' app::fill$'
for name in app::Store::add 'app::Store::add(int, int)' app::fill \
    'int app::fill<int>(std::vector<int, std::allocator<int> >&, int)'; do
    status 0 "$T" report run.ttape --callers "$name"
    has out ' main '
    status 0 "$T" tree run.ttape --open "main/$name"
done
status 4 "$T" report run.ttape --callers app::Store
for name in app::Store::add 'main->app::Store::add(int, int)' 'main->app::fill'; do
    status 0 "$T" graph run.ttape --all --context "$name" # a busy machine makes any share small
done
status 4 "$T" graph run.ttape --min-calls 1000 --context app::fill
has err 'is no node or edge of the graph, of which limits have pruned some: --all keeps them'
status 4 "$T" graph run.ttape --all --context app::fil
has err "'app::fil' is no node or edge of the graph$"
status 0 "$T" tree run.ttape --open 'main/app::Store::add/app::Store::add/std::map<…>::operator[]'
for name in '^app::fill$' '^int app::fill<int>'; do
    status 0 "$T" record -o some.ttape -f -F "$name" ./names
    status 0 "$T" report some.ttape
    has out ' app::fill$'
    checks=$((checks + 1))
    [ "$(grep -c '  app::' out)" -eq 1 ] || fail "-F $name records others, too"
done
status 0 "$T" record -o some.ttape -f --no-function '^std::' ./names
status 0 "$T" report some.ttape
checks=$((checks + 1))
grep -q '  std::' out && fail "functions of std are recorded"

verdict
