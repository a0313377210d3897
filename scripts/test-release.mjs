/**
 * `npm run test:release`: everything that `npm test` runs, with all that takes too long for every change. It stops at the
 * first part that fails.
 *
 *   npm run test:release -- --list           says which parts there are, and runs none
 *   npm run test:release -- plain checker    runs these parts alone
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';

/** So that rounds before different releases differ; a failure prints its seed. */
const anySeed = () => String(Date.now() % 1_000_000_000);

/** What each part runs: a script of this folder with its arguments, and what it has in its environment. */
const parts = {
  suites: {
    says: 'all tests, with every version of kubectl and of etcd, and with their long rounds',
    run: ['test.mjs'],
    environment: { WHERRY_RELEASE: '1' },
  },
  requests: {
    says: "the express lane against Node's parser on a million generated requests",
    run: ['check.mjs', '--requests', '1000000'],
  },
  damage: {
    says: 'a data file, damaged in 5000 ways',
    run: ['test.mjs', 'src/store/damage.alone.test.ts'],
    environment: { WHERRY_DAMAGES: '5000' },
  },
  soak: {
    says: 'a cluster under random disturbances, from another seed each time',
    run: ['test.mjs', 'test/clusters/soak.alone.release.test.ts'],
    environment: { WHERRY_RELEASE: '1', WHERRY_SEED: anySeed() },
  },
  checker: {
    says: 'the checker of histories and watches, for half an hour',
    run: ['check.mjs', '--minutes', '30'],
  },
  attacks: { says: 'every attack in its long form', run: ['attack.mjs'] },
  plain: {
    says: 'the tests of `npm test` with every optimisation off',
    run: ['test.mjs'],
    environment: { WHERRY_PLAIN: '1' },
  },
  machines: {
    says: 'commands, files, processes and sockets on machines that are not this one: see scripts/machines.mjs',
    run: ['machines.mjs'],
  },
  versions: { says: 'the tests of `npm test` on every supported version of Node', run: ['versions.mjs'] },
};

process.chdir(path.dirname(import.meta.dirname));
const { names, list } = readOptions();
for (const [i, name] of names.entries()) {
  const { says, run, environment } = parts[name];
  tell(list ? `${name}: ${says}` : `Part ${i + 1} of ${names.length}, ${name}: ${says}`);
  if (list) continue;
  const [script, ...args] = run;
  const { status } = spawnSync(process.execPath, [path.join('scripts', script), ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  if (status === 0) continue;
  const left = names.slice(i + 1);
  tell(`The part ${name} failed. Again: npm run test:release -- ${name}`);
  if (left.length) tell(`Not run: ${left.join(', ')}`);
  process.exit(1);
}
if (!list) tell(`Passed: ${names.join(', ')}`);

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { list: { type: 'boolean' } },
    });
    const unknown = positionals.find((name) => !Object.hasOwn(parts, name));
    if (unknown !== undefined)
      throw new Error(`There is no part ${unknown}; there are ${Object.keys(parts).join(', ')}`);
    return { names: positionals.length ? positionals : Object.keys(parts), list: values.list };
  } catch (error) {
    tell(error.message);
    return process.exit(1);
  }
}

function tell(text) {
  process.stdout.write(`${text}\n`);
}
