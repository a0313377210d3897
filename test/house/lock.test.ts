/** Proves that the lock file is complete for `npm ci`, on every platform and with any registry. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const root = join(import.meta.dirname, '../..');
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Record<string, LockedPackage> };
const { dependencies, devDependencies, optionalDependencies } = read('package.json') as Record<
  string,
  Record<string, string>
>;

/** Where Node would find a package that the one at `from` depends on. */
function found(from: string, name: string): string | undefined {
  for (
    let folder = from;
    ;
    folder = folder.slice(0, folder.lastIndexOf('node_modules/')).replace(/\/$/, '')
  ) {
    const place = folder ? `${folder}/node_modules/${name}` : `node_modules/${name}`;
    if (packages[place]) return place;
    if (folder === '') return undefined;
  }
}

describe('the lock file', () => {
  it('has every package that another one asks for, also those for other platforms', () => {
    const missing = Object.entries(packages).flatMap(([from, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !found(from, name))
        .map((name) => `${name}, which ${from || 'Wherry'} asks for`),
    );
    expect(missing).toEqual([]);
  });

  it.each([
    ['linux', 'x64'],
    ['linux', 'arm64'],
    ['darwin', 'x64'],
    ['darwin', 'arm64'],
    ['win32', 'x64'],
  ])('has the native parts of what builds, tests and stores for %s on %s', (os, cpu) => {
    const built = Object.entries(packages)
      .filter(([, entry]) => entry.os?.includes(os) && entry.cpu?.includes(cpu))
      .map(([place]) => place.replace('node_modules/', ''));
    for (const family of [
      '@biomejs/',
      '@esbuild/',
      '@lmdb/',
      '@lydell/',
      '@rolldown/',
      '@typescript/',
      'lightningcss-',
    ])
      expect(built.filter((name) => name.startsWith(family))).not.toEqual([]);
  });

  it('pins contents by checksum, and names no registry', () => {
    const entries = Object.entries(packages).filter(([place]) => place !== '');
    expect(entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('holds exactly the versions of package.json, which leaves none open', () => {
    for (const [name, version] of Object.entries({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
    })) {
      // A package under another name: npm:NAME@VERSION.
      const [exact] = version.match(/(?<=^|^npm:[^@]+@)\d+\.\d+\.\d+$/) ?? [version];
      expect(exact).toMatch(/^\d+\.\d+\.\d+$/);
      expect(packages[`node_modules/${name}`]?.version).toBe(exact);
    }
  });
});
