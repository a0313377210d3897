/**
 * Time from start to first answer: of the command as a process (at its very first start, and with cached
 * compiled code), and of an embedded server in a running process. Median of ten. Run with: node
 * bench/start.mjs (after npm run build).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keepCompiledCode } from './servers.mjs';

const rounds = 10;
const root = path.dirname(import.meta.dirname);

const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

/** Milliseconds until the command answers its first request. */
async function command(dataDir) {
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    [path.join(root, 'dist/cli.cjs'), 'up', '--port', '0', '--data-dir', dataDir],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [line] = await once(child.stdout, 'data');
  const url = /http:\S+/.exec(String(line))[0];
  const answer = await fetch(`${url}/healthz`);
  if ((await answer.text()) !== 'ok') throw new Error('the server is not healthy');
  const took = performance.now() - begun;
  child.kill('SIGTERM');
  await once(child, 'exit');
  return took;
}

async function embedded(start) {
  const begun = performance.now();
  const cluster = await start({ store: 'memory' });
  await (await fetch(`${cluster.url}/healthz`)).text();
  const took = performance.now() - begun;
  await cluster.close();
  return took;
}

const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
const first = await keepCompiledCode();
const commands = [];
for (let i = 0; i < rounds; i++) commands.push(await command(dataDir));
rmSync(dataDir, { recursive: true });
const { start } = await import('../dist/index.js');
const servers = [];
for (let i = 0; i < rounds; i++) servers.push(await embedded(start));
console.log(`wherry up, to the first answer, first start: ${first.toFixed(0)} ms`);
console.log(`wherry up, to the first answer, later:       ${median(commands).toFixed(0)} ms (bar: 300)`);
console.log(`start({ store: 'memory' }), to the same:     ${median(servers).toFixed(1)} ms (bar: 50)`);
