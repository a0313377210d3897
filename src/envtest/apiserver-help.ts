/** What `kube-apiserver --help` and `--version` print. Test harnesses look for flags at the beginning of lines. */
import { platform } from '../platform.ts';
import { apiServerFlags, apiServerSections } from './apiserver-flags.ts';
import { type Flag, textOf } from './flag.ts';

/** The version of Kubernetes whose server this stands in for. */
export const kubernetesVersion = 'v1.36.4';

const indent = '      ';
const gap = 3;

export function apiServerHelp(): string {
  const intro = `Wherry in the place of kube-apiserver: it validates and stores the objects of the Kubernetes API,
serves them over HTTPS, and keeps them in the data folder of the etcd beside it. Flags without
a meaning here are accepted, so that command lines made for kube-apiserver work as they are.

Usage:
  kube-apiserver [flags]
`;
  const shown = apiServerFlags.filter(({ hidden }) => !hidden);
  const sections = apiServerSections.map((name) =>
    section(
      name,
      shown.filter((flag) => flag.section === name),
    ),
  );
  return [intro, ...sections].join('\n');
}

function section(name: string, flags: readonly Flag[]): string {
  const column = Math.max(...flags.map((flag) => head(flag).length)) + gap;
  const lines = flags.map((flag) => `${head(flag).padEnd(column)}${textOf(flag)}${defaultOf(flag)}`);
  return `${name} flags:\n\n${lines.join('\n')}\n`;
}

function head({ name, type }: Flag): string {
  const short = name === 'v' ? '  -v, ' : name === 'help' ? '  -h, ' : indent;
  return `${short}--${name}${type === 'bool' ? '' : ` ${type}`}`;
}

function defaultOf({ type, default: value }: Flag): string {
  if (['', 'false', '0', '0s', '[]'].includes(value)) return '';
  return ` (default ${type === 'string' ? JSON.stringify(value) : value})`;
}

/** `asked`: the value of `--version`, `raw` for the form of Go's struct. */
export function apiServerVersion(asked: string, wherryVersion: string, version = kubernetesVersion): string {
  if (asked !== 'raw') return `Kubernetes ${version} (Wherry ${wherryVersion})\n`;
  const [major, minor] = version.slice(1).split('.');
  const fields = {
    Major: major,
    Minor: minor,
    GitVersion: version,
    GitTreeState: 'clean',
    Compiler: `wherry ${wherryVersion}`,
    Platform: `${platform.name}/${process.arch}`,
  };
  const parts = Object.entries(fields).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
  return `version.Info{${parts.join(', ')}}\n`;
}
