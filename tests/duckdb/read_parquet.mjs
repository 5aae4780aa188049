// A Parquet file of calls as hyparquet reads it: own times by name, and types. In: the folders of
// hyparquet and fzstd, the file.
const [hyparquet, fzstd, path] = process.argv.slice(2);
const {asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema} =
    await import(`${hyparquet}/src/node.js`);
const {decompress} = await import(`${fzstd}/esm/index.mjs`);
const file = await asyncBufferFromFile(path);
const metadata = await parquetMetadataAsync(file);
const compressors = {ZSTD: (bytes, size) => decompress(bytes, new Uint8Array(size))};
const rows = await parquetReadObjects({file, metadata, compressors, columns: ["name", "self_ns"]});
const sums = {};
for (const {name, self_ns} of rows)
    sums[name] = (sums[name] ?? 0n) + self_ns;
const types = parquetSchema(metadata).children.map(({element}) => [element.name, element.type]);
const texts = Object.entries(sums).map(([name, sum]) => [name, String(sum)]);
process.stdout.write(JSON.stringify({rows: rows.length, types, sums: texts}));
