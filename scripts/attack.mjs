/**
 * `npm run attack`: runs all attacks of `test/attack/attacks/`, and prints what each did, what got in, what it cost the
 * server, and what a neighbour felt meanwhile. `npm run attack -- --help` tells more.
 */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { binary } from './checks.mjs';
import { run } from './install.mjs';

const help = `npm run attack
  Starts servers on loopback addresses of this machine, and attacks each. Takes about ten minutes.
npm run attack -- WORD
  Attacks whose name has this word.
npm run attack -- --server https://127.0.0.1:6443 --token TOKEN [WORD]
  Attacks a server that runs already. TOKEN is an administrator's. Attacks that need options, a node or programs of
  their own are left out. What it does to that server:
  - it fills it with requests, connections, watches and large objects for some minutes; others may be refused
  - it creates service accounts, a role and a binding named attack-…, config maps, roles, custom kinds and webhooks
    for kinds of its own, and deletes what it has made; when it is stopped in between, names that begin with "attack"
    are left
  - it changes nothing that was there
  Attack only what is yours, and nothing that people depend on.
npm run attack -- --turns WORD
  Also tells the longest turns of the event loop, and which functions ran in them. Profiling makes all of them longer.
npm run attack -- --growth
  Also measures how the cost of requests grows with the length of every list that a client may send.
`;

process.chdir(path.dirname(import.meta.dirname));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string' },
    token: { type: 'string' },
    growth: { type: 'boolean' },
    turns: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help || (values.server === undefined) !== (values.token === undefined)) {
  process.stdout.write(help);
  process.exit(values.help ? 0 : 1);
}
const [word] = positionals;
run(process.execPath, ['scripts/build.mjs'], 'the build failed');
const { status } = spawnSync(
  binary('vitest'),
  [
    ...['run', '--project', 'shared'],
    ...(values.growth ? ['test/attack'] : ['test/attack/attack.test.ts']),
    ...(word ? ['-t', word] : []),
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      WHERRY_ATTACK: 'long',
      ...(values.turns ? { TURNS_FILE: path.join(tmpdir(), `wherry-turns-${process.pid}.json`) } : {}),
      ...(values.server ? { WHERRY_ATTACK_SERVER: values.server, WHERRY_ATTACK_TOKEN: values.token } : {}),
    },
  },
);
process.exit(status ?? 1);
