// Lines of {"schema": NAME, "what": WORDS, "value": ...} on standard input against the schemas in a
// folder: prints what does not fit. This is the tests' door to ajv (Debian's node-ajv).
'use strict';
const fs = require('fs');
const path = require('path');

let Ajv;
try {
    Ajv = require('ajv');
} catch (error) {
    console.log('SKIPPED: node-ajv is missing (scripts/setup installs it)');
    process.exit(77);
}
const folder = process.argv[2];
const ajv = new Ajv({ jsonPointers: true });
const compiled = {};
function schemaOf(name) {
    if (compiled[name] === undefined)
        compiled[name] = ajv.compile(JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')));
    return compiled[name];
}
let failures = 0, count = 0;
for (const line of fs.readFileSync(0, 'utf8').split('\n')) {
    if (line === '')
        continue;
    const item = JSON.parse(line), check = schemaOf(item.schema);
    count++;
    if (check(item.value))
        continue;
    failures++;
    if (failures <= 10)
        console.log(`FAILED: ${item.schema}: ${item.what}: ` + check.errors.slice(-3).map(
            e => `${e.dataPath} ${e.message} ${JSON.stringify(e.params)}`).join('; '));
}
console.log(`${count} values, ${failures} do not fit`);
process.exit(failures > 0 ? 1 : 0);
