/**
 * Runs one suite on every minor of Kubernetes that a cluster can be, in TypeScript (test/clusters) and in Go
 * (examples/go, with the programs of `wherry envtest`), and writes a table of what passed, and how long it took, into
 * docs/minors.md. Needs `node scripts/build.mjs` first, and Go.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const page = 'docs/minors.md';
const suite = 'test/clusters/every-minor.release.test.ts';
const minors = Object.keys(JSON.parse(readFileSync('src/api/minors/versions.json', 'utf8')).minors);
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-matrix-'));
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

function vitest() {
  const output = path.join(folder, 'vitest.json');
  const env = { ...process.env, WHERRY_RELEASE: '1' };
  spawnSync('npx', ['vitest', 'run', suite, '--reporter=json', `--outputFile=${output}`], { env });
  const tests = JSON.parse(readFileSync(output, 'utf8')).testResults.flatMap(
    ({ assertionResults }) => assertionResults,
  );
  return (minor) => {
    const own = tests.filter(({ ancestorTitles }) => ancestorTitles.includes(minor));
    const passed = own.filter(({ status }) => status === 'passed').length;
    const ms = own.reduce((sum, { duration = 0 }) => sum + duration, 0);
    return `${passed} of ${own.length}, ${seconds(ms)}`;
  };
}

function go() {
  const binary = path.join(folder, 'suite');
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod', GOPROXY: 'off' };
  execFileSync('go', ['test', '-c', '-o', binary, '.'], { cwd: 'examples/go', env });
  execFileSync('node', ['dist/cli.cjs', 'envtest', '--store', '--kubernetes', minors.join(), folder]);
  const assets = readdirSync(path.join(folder, 'k8s'));
  return (minor) => {
    const own = assets.find((name) => name.startsWith(`${minor}.`));
    const began = performance.now();
    const { status } = spawnSync(binary, [], {
      cwd: 'examples/go',
      env: { ...env, KUBEBUILDER_ASSETS: path.join(folder, 'k8s', own) },
    });
    return `${status === 0 ? 'passed' : 'failed'} as ${own.split('-')[0]}, ${seconds(performance.now() - began)}`;
  };
}

const began = performance.now();
const [inTypeScript, inGo] = [vitest(), go()];
const rows = minors.map((minor) => `| ${minor} | ${inTypeScript(minor)} | ${inGo(minor)} |`);
const table = [
  `All minors in one run of \`node bench/minor-matrix.mjs\`, ${Math.round((performance.now() - began) / 1000)} seconds:`,
  '',
  '| minor | tests in TypeScript | suite in Go |',
  '|---|---|---|',
  ...rows,
].join('\n');
const text = readFileSync(page, 'utf8');
writeFileSync(page, text.replace(/(<!-- matrix -->\n)[\s\S]*?(\n<!-- end -->)/, `$1\n${table}\n$2`));
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${table}\n`);
