/**
 * `wherry envtest DIR`: writes programs named `etcd`, `kube-apiserver` and `kubectl`, which test harnesses start in the
 * place of Kubernetes' own (`KUBEBUILDER_ASSETS=DIR`). Each becomes its Node process by `exec`, because harnesses send
 * signals to the program they started; paths are absolute, because they start it in any folder with any `PATH`. The help,
 * which harnesses ask for before every start, is part of the programs: it takes the shell a few milliseconds, and Node a
 * hundred.
 */

import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { platform } from '../platform.ts';
import { apiServerHelp, kubernetesVersion } from './apiserver-help.ts';
import { etcdHelp, etcdUsage } from './etcd-flags.ts';

export interface AssetsLine {
  readonly command: 'envtest';
  readonly folder: string;
  /** Write them into `k8s/VERSION-OS-ARCH` of the folder, where setup-envtest and others keep versions. */
  readonly versioned: boolean;
  /** The minors of Kubernetes that the servers are, `1.29` or `1.29.4`; empty: the newest. */
  readonly kubernetes: readonly string[];
  /** Which controllers run, in the form of `--wherry-controllers`. */
  readonly controllers: string | undefined;
}

/** Scripts that Node runs. */
export interface Scripts {
  readonly etcd: string;
  readonly apiServer: string;
}

const architectures: Readonly<Record<string, string>> = {
  x64: 'amd64',
  arm: 'arm',
  arm64: 'arm64',
  ia32: '386',
};

/**
 * Removed from the environment: Node reads the authorities it names at every start, which took 85 ms; kube-apiserver
 * has no such variable.
 */
const slowVariable = 'NODE_EXTRA_CA_CERTS';

/** Writes the programs; returns what to say about them. */
export function writeAssets(line: AssetsLine, scripts: Scripts): string {
  const minors = line.kubernetes.length ? line.kubernetes : [undefined];
  return minors.map((minor) => writeVersion(line, minor, scripts)).join('');
}

function writeVersion(
  { folder, versioned, controllers }: AssetsLine,
  minor: string | undefined,
  scripts: Scripts,
): string {
  const root = path.resolve(folder);
  const release = minor === undefined ? kubernetesVersion.slice(1) : publishedVersion(minor);
  const version = `${release}-${platform.name}-${architectures[process.arch] ?? process.arch}`;
  const target = versioned ? path.join(root, 'k8s', version) : root;
  mkdirSync(target, { recursive: true });
  const run = (help: string, ...words: string[]): string =>
    `if [ "$*" != --help ]; then
unset ${slowVariable}
exec ${[process.execPath, ...words].map(quoted).join(' ')} "$PPID" "$@"
fi
${help}`;
  writeProgram(
    path.join(target, 'etcd'),
    run(`${printing(etcdUsage)} >&2; ${printing(etcdHelp())}`, scripts.etcd),
  );
  writeProgram(
    path.join(target, 'kube-apiserver'),
    run(
      printing(apiServerHelp()),
      scripts.apiServer,
      [controllers ?? '', ...(minor === undefined ? [] : [release])].join('@'),
    ),
  );
  const kubectl = findKubectl(target);
  if (kubectl) linkTo(path.join(target, 'kubectl'), kubectl);
  else writeProgram(path.join(target, 'kubectl'), missingKubectl);
  const using = versioned ? `setup-envtest use -i -p path --bin-dir ${root}` : `KUBEBUILDER_ASSETS=${target}`;
  return `Wrote etcd, kube-apiserver and kubectl into ${target}\nTry: ${
    versioned ? using : `${using} go test ./...`
  }\n`;
}

/**
 * The version of each minor that `setup-envtest list` shows, so that suites that ask for it find the folder. Minors
 * without a published one have the patch that their tables were read from.
 */
const published: Readonly<Record<string, string>> = {
  '1.22': '1.22.17',
  '1.23': '1.23.5',
  '1.24': '1.24.2',
  '1.25': '1.25.0',
  '1.26': '1.26.1',
  '1.27': '1.27.1',
  '1.28': '1.28.3',
  '1.29': '1.29.5',
  '1.30': '1.30.3',
  '1.31': '1.31.0',
  '1.32': '1.32.0',
  '1.33': '1.33.0',
  '1.34': '1.34.1',
  '1.35': '1.35.0',
  '1.36': '1.36.2',
};

const publishedVersion = (version: string): string => published[version] ?? version;

/** A command that every shell has built in: the path may be empty. */
const printing = (text: string): string => `printf %s ${quoted(text)}`;

const missingKubectl =
  'echo "kubectl is not installed: see https://kubernetes.io/docs/tasks/tools, then run wherry envtest again" >&2; exit 1';

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function writeProgram(file: string, command: string): void {
  // Removed first, so that a link of this name is not followed.
  rmSync(file, { force: true });
  writeFileSync(file, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  chmodSync(file, 0o755);
}

function linkTo(file: string, program: string): void {
  rmSync(file, { force: true });
  symlinkSync(program, file);
}

/** The first kubectl of `PATH` that is not one of the folder itself. */
function findKubectl(target: string): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    if (!path.isAbsolute(folder) || path.resolve(folder) === target) continue;
    const file = path.join(folder, 'kubectl');
    try {
      accessSync(file, constants.X_OK);
      if (!lstatSync(file).isDirectory()) return file;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}
