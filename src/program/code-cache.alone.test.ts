/** Proves where compiled code is cached, the checks on that folder's owner, and the limit on files. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCodeCache, type Started } from './code-cache.ts';

const code = Buffer.from('compiled code');
const hasOwners = process.getuid !== undefined;
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'wherry-code-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const started = (more: Partial<Started> = {}): Started => ({
  env: { XDG_CACHE_HOME: root },
  execArgv: [],
  platform: 'linux',
  version: 'v20.19.0',
  arch: 'arm64',
  ...more,
});
const folder = () => join(root, 'wherry');
const kept = () => readdirSync(folder());

describe('compiled code', () => {
  it('is found again under the same source, version and processor alone', () => {
    openCodeCache(started(), 'wherry-ab')!.keep(code);
    expect(kept()).toEqual(['wherry-ab.v20.19.0.arm64.code']);
    expect(openCodeCache(started(), 'wherry-ab')!.read()).toEqual(code);
    expect(openCodeCache(started(), 'wherry-cd')!.read()).toBeUndefined();
    expect(openCodeCache(started({ version: 'v22.1.0' }), 'wherry-ab')!.read()).toBeUndefined();
    expect(openCodeCache(started({ arch: 'x64' }), 'wherry-ab')!.read()).toBeUndefined();
  });

  it('is not read when its checksum is wrong', () => {
    const cache = openCodeCache(started(), 'wherry-ab')!;
    cache.keep(code);
    writeFileSync(join(folder(), kept()[0]!), Buffer.concat([Buffer.alloc(32), code]));
    expect(cache.read()).toBeUndefined();
  });

  it.each([
    ['a flag', { execArgv: ['--max-old-space-size=100'] }],
    ['flags in the environment', { env: { XDG_CACHE_HOME: '/nowhere', NODE_OPTIONS: '--no-opt' } }],
    ['optimisations switched off', { env: { XDG_CACHE_HOME: '/nowhere', WHERRY_PLAIN: '1' } }],
  ])('is neither read nor kept with %s', (_, more) => {
    expect(openCodeCache(started(more), 'wherry-ab')).toBeUndefined();
  });

  it('stays below a bound: the oldest files go, also those that were never finished', () => {
    mkdirSync(folder(), { mode: 0o700 });
    for (let i = 0; i < 12; i++) {
      const file = join(folder(), `wherry-${i}.code${i % 2 ? '.4711' : ''}`);
      writeFileSync(file, 'old');
      utimesSync(file, i, i);
    }
    writeFileSync(join(folder(), 'notes.txt'), 'not ours');
    openCodeCache(started(), 'wherry-ab')!.keep(code);
    expect(kept().sort()).toEqual(
      [
        'notes.txt',
        'wherry-10.code',
        'wherry-11.code.4711',
        'wherry-5.code.4711',
        'wherry-6.code',
        'wherry-7.code.4711',
        'wherry-8.code',
        'wherry-9.code.4711',
        'wherry-ab.v20.19.0.arm64.code',
      ].sort(),
    );
  });

  it('does not throw where nothing can be written', () => {
    writeFileSync(join(root, 'wherry'), 'a file, not a folder');
    const cache = openCodeCache(started(), 'wherry-ab')!;
    cache.keep(code);
    expect(cache.read()).toBeUndefined();
  });
});

describe.runIf(hasOwners)('a cache folder', () => {
  it('is made for this user alone', () => {
    openCodeCache(started(), 'wherry-ab')!.keep(code);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder(), kept()[0]!)).mode & 0o777).toBe(0o600);
  });

  it('that others can write to is not trusted', () => {
    const cache = openCodeCache(started(), 'wherry-ab')!;
    cache.keep(code);
    chmodSync(folder(), 0o770);
    expect(cache.read()).toBeUndefined();
    rmSync(join(folder(), kept()[0]!));
    cache.keep(code);
    expect(kept()).toEqual([]);
  });

  it('of another user is neither trusted nor written to', () => {
    const cache = openCodeCache(started(), 'wherry-ab')!;
    cache.keep(code);
    const own = process.getuid;
    process.getuid = () => statSync(root).uid + 1;
    try {
      expect(cache.read()).toBeUndefined();
      rmSync(folder(), { recursive: true });
      cache.keep(code);
      expect(readdirSync(root)).toEqual([]);
    } finally {
      process.getuid = own;
    }
  });
});

describe('the place of compiled code', () => {
  it.each([
    ['linux', {}, join(homedir(), '.cache', 'wherry')],
    ['darwin', {}, join(homedir(), 'Library', 'Caches', 'wherry')],
    ['win32', { LOCALAPPDATA: '/local' }, join('/local', 'wherry', 'Cache')],
    ['linux', { XDG_CACHE_HOME: '/chosen' }, join('/chosen', 'wherry')],
    ['linux', { XDG_CACHE_HOME: 'relative' }, join(homedir(), '.cache', 'wherry')],
  ] as const)('is a cache folder of the user on %s with %o', (platform, env, place) => {
    expect(openCodeCache(started({ platform, env }), 'a')!.folder).toBe(place);
  });
});
