/**
 * Runs one suite on every minor of Kubernetes that a cluster can be, in TypeScript (test/clusters) and in Go
 * (minor_test.go, with the programs of `wherry envtest`), and writes a table of what passed, and how long it took, into
 * docs/minors.md. Fails when a test does. Needs `node scripts/build.mjs` first, and Go.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const page = 'docs/minors.md';
const suite = 'test/clusters/every-minor.release.test.ts';
const tables = 'src/api/minors/versions.json';
const minors = Object.keys(JSON.parse(readFileSync(tables, 'utf8')).minors);
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

/** The suite in Go is built with what starts the programs of `wherry envtest`. */
function go() {
  const binary = path.join(folder, 'suite');
  const sources = path.join(folder, 'go');
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod', GOPROXY: 'off' };
  mkdirSync(sources);
  for (const file of ['certificates.go', 'controlplane.go', 'go.mod'])
    cpSync(path.join('examples/go', file), path.join(sources, file));
  cpSync('bench/minor_test.go', path.join(sources, 'minor_test.go'));
  execFileSync('go', ['test', '-c', '-o', binary, '.'], { cwd: sources, env });
  execFileSync('node', ['dist/cli.cjs', 'envtest', '--store', '--kubernetes', minors.join(), folder]);
  const assets = readdirSync(path.join(folder, 'k8s'));
  return (minor) => {
    const own = assets.find((name) => name.startsWith(`${minor}.`));
    const began = performance.now();
    const { stdout, stderr } = spawnSync(binary, ['-test.v'], {
      encoding: 'utf8',
      env: {
        ...env,
        KUBEBUILDER_ASSETS: path.join(folder, 'k8s', own),
        WHERRY_MINOR: minor,
        WHERRY_TABLES: path.resolve(tables),
      },
    });
    const passed = stdout.match(/^--- PASS/gm)?.length ?? 0;
    const failed = stdout.match(/^--- FAIL/gm)?.length ?? 0;
    if (failed || !passed) process.stderr.write(stdout + stderr);
    return `${passed} of ${passed + failed} as ${own.split('-')[0]}, ${seconds(performance.now() - began)}`;
  };
}

const began = performance.now();
const [inTypeScript, inGo] = [vitest(), go()];
const rows = minors.map((minor) => `| ${minor} | ${inTypeScript(minor)} | ${inGo(minor)} |`);
const table = [
  `All minors in one run of \`node bench/minor-matrix.mjs\`, ${Math.round((performance.now() - began) / 1000)} seconds:`,
  '',
  '| minor | suite in TypeScript | suite in Go |',
  '|---|---|---|',
  ...rows,
].join('\n');
const text = readFileSync(page, 'utf8');
const place = /(<!-- matrix -->\n)[\s\S]*?(<!-- end -->)/;
if (!place.test(text)) throw new Error(`${page} has no place for the matrix`);
writeFileSync(page, text.replace(place, `$1\n${table}\n\n$2`));
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${table}\n`);
if (!rows.every((row) => row.match(/\b5 of 5\b/g)?.length === 2)) process.exitCode = 1;
