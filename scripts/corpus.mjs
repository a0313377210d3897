/**
 * `npm run corpus -- FOLDER…`: applies every manifest below the folders, and prints what was refused, how long it took,
 * and the server's processor time and memory.
 *
 * Each folder gets a server of its own, in memory. `--server URL` sends all to a running server instead, `--compare URL`
 * also to another one, and prints how their answers differ. `--all` prints every refusal, also those with the same words.
 * It ends with 1 when a server failed (5xx), or answers differ.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ApiServer, startServer } from './corpus/api-server.mjs';
import { readManifests } from './corpus/manifests.mjs';
import { details, isFault, table } from './corpus/report.mjs';
import { sendAll } from './corpus/run.mjs';
import { run as runCommand } from './install.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { server: { type: 'string' }, compare: { type: 'string' }, all: { type: 'boolean' } },
});
if (positionals.length === 0) fail('name the folders whose manifests are to be applied');
for (const folder of positionals) if (!existsSync(folder)) fail(`there is no ${folder}`);
const built = path.join(import.meta.dirname, '../dist/cli.cjs');
if (!values.server && !existsSync(built)) {
  const script = path.join(import.meta.dirname, 'build.mjs');
  runCommand(process.execPath, [script], 'the build failed');
}

const rows = [];
for (const folder of positionals) {
  const row = await runFolder(folder);
  console.log(`${details(row, values.all)}\n`);
  rows.push(row);
}
console.log(table(rows));
const failed = rows.some(
  ({ run }) => run.differences.length > 0 || run.refused.some(({ answer }) => isFault(answer)),
);
process.exit(failed ? 1 : 0);

async function runFolder(folder) {
  const found = readManifests(folder);
  const server = values.server ? new ApiServer(values.server) : await startServer();
  const servers = values.compare ? [server, new ApiServer(values.compare)] : [server];
  try {
    return { name: path.basename(path.resolve(folder)), found, run: await sendAll(found, servers) };
  } finally {
    await server.close();
  }
}

function fail(words) {
  console.error(`corpus: ${words}`);
  process.exit(2);
}
