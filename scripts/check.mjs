/**
 * `npm run check`: style, types, layers, dead code and house rules, in half a minute.
 * `npm run check -- --minutes 30`: runs the checker of `test/checker/` for this long, each round with another
 * seed.
 * `npm run check -- --seed 7`: runs the checker with one seed; with `--minutes`, starting with it.
 * `--store etcd` (or memory, lmdb): runs it on one engine only.
 * `npm run check -- --requests 1000000`: compares the express lane with Node's parser on this many generated requests.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { binary, runChecks } from './checks.mjs';
import { run } from './install.mjs';

process.chdir(path.dirname(import.meta.dirname));
/** A million requests take minutes. */
const requestsMaxMs = 3 * 3_600_000;
/** A different seed each time, unless one is given. */
const anySeed = () => String(Date.now() % 1_000_000_000);
const { minutes, seed, store, requests } = readOptions();

if (requests !== undefined) compareRequests();
else if (minutes === undefined && seed === undefined && store === undefined) {
  runChecks();
  run(binary('vitest'), ['run', 'test/house/house-rules.test.ts'], 'a file breaks a rule of the house');
} else {
  run(process.execPath, ['scripts/build.mjs'], 'the build failed');
  const { status } = spawnSync(binary('vitest'), ['run', 'test/checker/checker.test.ts'], {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(store === undefined ? {} : { WHERRY_CHECK_STORE: store }),
      WHERRY_CHECK_MINUTES: String(minutes ?? 0),
      WHERRY_SEED: seed ?? anySeed(),
    },
  });
  process.exit(status ?? 1);
}

function compareRequests() {
  const tests = ['src/server/wire/plain-request.test.ts', 'src/server/lane/express-lane.parser.test.ts'];
  const { status } = spawnSync(binary('vitest'), ['run', '--testTimeout', String(requestsMaxMs), ...tests], {
    stdio: 'inherit',
    env: { ...process.env, WHERRY_REQUESTS: requests, WHERRY_SEED: seed ?? anySeed() },
  });
  process.exit(status ?? 1);
}

function readOptions() {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { minutes: text, seed: text, store: text, requests: text } });
  const { store } = values;
  if (store !== undefined && !['memory', 'lmdb', 'etcd'].includes(store)) {
    process.stderr.write(`--store must be memory, lmdb or etcd, not ${JSON.stringify(store)}\n`);
    process.exit(1);
  }
  const number = (name) => {
    const value = values[name];
    if (value === undefined || /^\d{1,9}(\.\d{1,3})?$/.test(value)) return value;
    process.stderr.write(`--${name} must be a number, not ${JSON.stringify(value)}\n`);
    return process.exit(1);
  };
  return { minutes: number('minutes'), seed: number('seed'), requests: number('requests'), store };
}
