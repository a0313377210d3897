/** Proves that the command opens its doors as asked, and that `wherry kubeconfig` lets users in. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../src/api/text/yaml.ts';
import { Child, command } from '../support/child.ts';
import { expectSentence, stop, useCommand } from '../support/command.ts';
import { runHere } from '../support/command-here.ts';
import { isRelease } from '../support/tier.ts';

const { children, refused } = useCommand();
const execute = promisify(execFile);

async function wherry(cwd: string, ...args: string[]): Promise<string> {
  return (await execute(process.execPath, [command, ...args], { cwd })).stdout;
}

/** The same of `wherry kubeconfig`, in this process with `npm test`. */
async function kubeconfig(cwd: string, ...args: string[]): Promise<string> {
  if (isRelease) return wherry(cwd, 'kubeconfig', ...args);
  const line = ['kubeconfig', '--data-dir', path.join(cwd, '.wherry'), ...args];
  const { stdout, ...end } = await runHere(line, cwd);
  expect(end).toEqual({ code: 0, signal: null, stderr: '' });
  return stdout;
}

async function serving(...args: string[]): Promise<{ child: Child; folder: string; url: string }> {
  const folder = await children.folder();
  const child = new Child(['serve', ...args], folder);
  return { child, folder, url: await child.ready() };
}

/** What a client is told by the API when it uses a kubeconfig. */
async function codeWith(text: string): Promise<number> {
  const config = new KubeConfig();
  config.loadFromString(text);
  const api = config.makeApiClient(CoreV1Api);
  return api.listNamespace().then(
    ({ items }) => (items.length ? 200 : 0),
    (error: { code: number }) => error.code,
  );
}

describe('the secure door', () => {
  it('opens beside the local one, with a kubeconfig for its administrator', async () => {
    const { child, folder } = await serving('--port', '0', '--secure-port', '0');
    await expect.poll(() => child.stdout).toMatch(/kubeconfig: .*\n/);
    expect(child.stdout).toMatch(
      /^Wherry is ready at http:\/\/127\.0\.0\.1:\d+\nSecure door at https:\/\/127\.0\.0\.1:\d+\nAdministrator's kubeconfig: \S+\n$/,
    );
    const file = path.join(folder, '.wherry', 'kubeconfig');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await codeWith(readFileSync(file, 'utf8'))).toBe(200);
    await stop(child);
  });

  it('can be the only one', async () => {
    const { child, folder, url } = await serving('--port', 'off', '--secure-port', '0');
    expect(url).toMatch(/^https:/);
    expect(await codeWith(readFileSync(path.join(folder, '.wherry', 'kubeconfig'), 'utf8'))).toBe(200);
    await stop(child);
  });

  it('can stay closed', async () => {
    const { child, folder } = await serving('--port', '0', '--secure-port', 'off');
    await stop(child);
    expect(child.stdout).toMatch(/^Wherry is ready at \S+\n$/);
    expect(existsSync(path.join(folder, '.wherry', 'pki'))).toBe(false);
  });

  it('takes another port when the default is taken, and says so', async () => {
    // A server of another test can hold 6443 and leave it at any time. A server that does not
    // find it taken holds it itself, for the next one.
    const first = await serving('--port', '0', '--in-memory');
    await expect.poll(() => first.child.stdout).toMatch(/Secure door at .*\n/);
    const isHeld = first.child.stdout.includes('Secure door at https://127.0.0.1:6443\n');
    const { child } = isHeld ? await serving('--port', '0', '--in-memory') : first;
    await expect
      .poll(() => child.stdout)
      .toMatch(/Secure door at https:\/\/127\.0\.0\.1:\d+ \(port 6443 is taken\)\n/);
    await stop(child);
    if (isHeld) await stop(first.child);
  });

  it('keeps to a port that was asked for', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as { port: number };
    const taken = await refused('serve', '--port', '0', '--in-memory', '--secure-port', String(port));
    expectSentence(taken, /port \d+ on 127\.0\.0\.1 is taken by another process/);
    holder.close();
  });

  it('shows certificates of files, and refuses to start with bad ones', async () => {
    const folder = await children.folder();
    const name = (file: string) => path.join(folder, file);
    await execute('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=mine', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', name('s.key'), '-out', name('s.crt')],
    ]);
    const files = ['--tls-cert-file', name('s.crt'), '--tls-private-key-file', name('s.key')];
    const { child, url } = await serving(
      '--port',
      'off',
      '--secure-port',
      '0',
      ...files,
      '--disable-http2-serving',
    );
    const { stdout } = await execute('curl', [
      '-sS',
      '--cacert',
      name('s.crt'),
      '-w',
      '%{http_code} %{http_version}',
      '-o',
      '/dev/null',
      `${url}/api`,
    ]);
    expect(stdout).toBe('403 1.1');
    await stop(child);
    writeFileSync(name('s.key'), 'nonsense');
    expectSentence(
      await refused('serve', '--port', '0', '--in-memory', ...files),
      /the secure door cannot be opened: /,
    );
  });

  it.each([
    [['--port', 'off', '--secure-port', 'off'], /leave no way in/],
    [['--port', 'off', '--in-memory'], /leave no way in: name a file .* by --write-kubeconfig/],
    [['--secure-port', 'of'], /--secure-port must be a number from 0 to 65535, or off, not "of"/],
    [['--secure-port', 'off', '--tls-san', 'a'], /--tls-san needs the secure door/],
    [['--tls-cert-file', 'a'], /need each other/],
    [['--tls-min-version', '1.2'], /--tls-min-version must be one of VersionTLS12, VersionTLS13/],
    [['--tls-cipher-suites', 'TLS_RSA_WITH_RC4_128_SHA'], /names a suite that is not supported/],
    [['--tls-sni-cert-key', 'a'], /--tls-sni-cert-key must be two files/],
    [['--tls-san', 'a b'], /--tls-san must be a name or an address/],
    [['--http2-max-streams-per-connection', 'many'], /must be a number from 0 to/],
  ])('%j is refused with a sentence', async (args, says) => {
    expectSentence(await refused('serve', ...args), says);
  });
});

describe('wherry kubeconfig', () => {
  it('prints, writes and merges one for the administrator or a user with groups', async () => {
    const { child, folder } = await serving('--port', '0', '--secure-port', '0');
    expect(await codeWith(await wherry(folder, 'kubeconfig'))).toBe(200);
    expect(
      await codeWith(await kubeconfig(folder, '--user', 'bob', '--group', 'dev', '--expires', '1h')),
    ).toBe(403);
    const out = path.join(folder, 'out');
    expect(await kubeconfig(folder, '--output', out)).toMatch(
      /^Written to \/\S+\/out: user wherry-admin at https:/,
    );
    expect(statSync(path.join(folder, 'out')).mode & 0o777).toBe(0o600);
    const mine = path.join(folder, 'mine');
    writeFileSync(
      mine,
      'kind: Config\nclusters: [{name: other, cluster: {server: "https://x"}}]\ncurrent-context: other\n',
    );
    const added = /^Added to (\S*\/)?mine; its current context is wherry-admin@wherry\n$/;
    expect(await wherry(folder, 'kubeconfig', '--merge', 'mine')).toMatch(added);
    expect(await kubeconfig(folder, '--merge', mine)).toMatch(added);
    const text = readFileSync(mine, 'utf8');
    const { value } = await readYaml(text);
    expect((value as { clusters: { name: string }[] }).clusters.map(({ name }) => name)).toEqual([
      'other',
      'wherry',
    ]);
    expect(await codeWith(text)).toBe(200);
    // As kubectl, where the folder is missing.
    await kubeconfig(folder, '--merge', path.join(folder, 'home/.kube/config'));
    expect(await codeWith(readFileSync(path.join(folder, 'home/.kube/config'), 'utf8'))).toBe(200);
    await stop(child);
  });

  it('says what is wrong', async () => {
    const folder = await children.folder();
    await expect(wherry(folder, 'kubeconfig')).rejects.toThrow(/there is no authority in .wherry\/pki/);
    for (const [args, says] of [
      [['--group', 'a'], /--group needs --user/],
      [['--expires', 'soon'], /--expires must be a time such as/],
      [['--server', 'http://x'], /--server must be a URL that begins with https:/],
      [['--output', 'a', '--merge', 'b'], /exclude each other/],
      [['--user', ''], /--user must be a name/],
    ] as const)
      expectSentence(await refused('kubeconfig', ...args), says);
  });
});
