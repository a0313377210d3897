/**
 * A runtime of JavaScript for musl, on a machine with glibc: Bun, from the npm registry, which has no Node for musl. The
 * C++ library that it and LMDB's binary load is linked from Debian's objects against musl.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const version = '1.4.4';
const cpu = ({ arm64: 'aarch64', x64: 'x64' } as Record<string, string>)[process.arch] ?? process.arch;
const folder = path.join(import.meta.dirname, '../../.cache/bun-musl', version);
const bun = path.join(folder, 'package/bin/bun');
const library = path.join(folder, 'libstdc++.so.6');

/** The binary of LMDB for musl, beside those for glibc. */
export const nativeFile = path.join(
  import.meta.dirname,
  `../../node_modules/@lmdb/lmdb-linux-${process.arch}/node.napi.musl.node`,
);

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** What the objects call that glibc has and musl lacks. */
const lacking = `
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/random.h>
char __libc_single_threaded = 0;
unsigned long __getauxval(unsigned long type) { return getauxval(type); }
int __pthread_key_create(pthread_key_t *key, void (*end)(void *)) { return pthread_key_create(key, end); }
int _dl_find_object(void *address, void *result) { return -1; }
uint32_t arc4random(void) { uint32_t value; getrandom(&value, sizeof value, 0); return value; }
`;

/** Classes of types, which weak symbols name: they are not listed as undefined. */
const typeClasses = ['class', 'si_class', 'vmi_class'].map((name) => {
  const word = `__${name}_type_info`;
  return `_ZTVN10__cxxabiv1${word.length}${word}E`;
});

function link(): void {
  const names = [bun, nativeFile].flatMap((file) =>
    run('nm', '-D', '--undefined-only', file)
      .split('\n')
      .map((line) => line.trim().split(/ +/).at(-1)!.replace(/@.*/, '')),
  );
  const wanted = names.filter((name) => /^(_Z|__cxa|_Unwind|__gxx)|frame_info/.test(name));
  const objects = ['libstdc++_pic.a', 'libgcc_eh.a', 'libgcc.a'].map((name) =>
    run('gcc', `-print-file-name=${name}`).trim(),
  );
  writeFileSync(path.join(folder, 'lacking.c'), lacking);
  writeFileSync(path.join(folder, 'empty.c'), '');
  const forced = [...new Set([...wanted, ...typeClasses, '__dynamic_cast'])].map((name) => `-Wl,-u,${name}`);
  run('musl-gcc', '-shared', '-fPIC', '-o', 'libgcc_s.so.1', 'empty.c');
  run('musl-gcc', '-shared', '-fPIC', '-o', library, ...forced, 'lacking.c', ...objects);
}

/** The program, made or fetched if it is not there yet; a sentence when that cannot be done here. */
export function muslRuntime(): { program: string; libraries: string } | string {
  if (process.platform !== 'linux') return 'this is not Linux';
  if (!existsSync(nativeFile)) return 'LMDB has no binary for musl here';
  try {
    mkdirSync(folder, { recursive: true });
    if (!existsSync(bun)) {
      run('npm', 'pack', '--silent', `@oven/bun-linux-${cpu}-musl@${version}`);
      run('tar', '-xzf', readdirSync(folder).find((name) => name.endsWith('.tgz'))!);
    }
    if (!existsSync(library)) link();
  } catch (error) {
    return `there is no runtime for musl: ${(error as Error).message.split('\n')[0]}`;
  }
  return { program: bun, libraries: folder };
}
