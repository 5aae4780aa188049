// DuckDB with the extension: a line {"sql": ...} in, a line {"columns", "rows"} or {"error"} out.
// Numbers of 64 bits are texts there.
import {createRequire} from "node:module";
import {createInterface} from "node:readline";

const {DuckDBInstance} = createRequire(`${process.argv[2]}/`)("@duckdb/node-api");
const database = await DuckDBInstance.create(":memory:",
    {allow_unsigned_extensions: "true", threads: process.argv[4]});
const connection = await database.connect();

async function answer(sql) {
    try {
        const began = performance.now();
        const used = process.cpuUsage();
        const result = await connection.runAndReadAll(sql);
        const seconds = (performance.now() - began) / 1000;
        const {user, system} = process.cpuUsage(used);
        const cpu = (user + system) / 1e6;
        return {columns: result.columnNames(), rows: result.getRowsJson(), seconds, cpu};
    } catch (error) {
        return {error: error.message};
    }
}

const loaded = await answer(`LOAD '${process.argv[3]}'`);
for await (const line of createInterface({input: process.stdin})) {
    const reply = loaded.error ? loaded : await answer(JSON.parse(line).sql);
    process.stdout.write(`${JSON.stringify(reply)}\n`);
}
