import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Spawner } from '../../process/spawner.ts';
import { NamespaceRoot, probeNamespaces } from './namespace-root.ts';
import { ProcessPod, TestSession, type Wanted } from './process-pod.fixture.ts';

const spawner = new Spawner();
const namespaces = await probeNamespaces(spawner);
let source: string;

beforeAll(async () => {
  source = await mkdtemp(join(tmpdir(), 'wherry-volume with blank-'));
  await chmod(source, 0o755);
  await writeFile(join(source, 'file'), 'in the volume\n');
  await writeFile(join(source, 'tool'), '#!/bin/sh\necho tool "$@"\n', { mode: 0o755 });
});
afterAll(async () => {
  spawner.close();
  await rm(source, { recursive: true, force: true });
});

const token = '/var/run/secrets/kubernetes.io/serviceaccount';
const mount = (path: string, readOnly = false, from = source) => ({ path, source: from, readOnly });

describe.runIf(namespaces)('mounts in a namespace', () => {
  let pod: ProcessPod;
  beforeAll(async () => {
    pod = await ProcessPod.make();
  });
  afterEach(() => pod.clear());
  afterAll(() => pod.close());

  const output = async (script: string, wanted: Wanted): Promise<string> => {
    const container = await pod.shell(script, wanted);
    await container.exited;
    return pod.log();
  };

  it('are at their very paths, whether those exist or not, and nowhere else', async () => {
    // Proves new paths at the top, in /etc, behind a link, deep ones and a file over a file, none of which
    // the machine itself gets.
    const paths = ['/wherry-data', '/etc/wherry-config', token, '/opt/wherry/a/b', '/usr/local/wherry'];
    const hosts = join(pod.folder, 'hosts');
    await writeFile(hosts, 'my hosts\n');
    const script = `cat ${paths.map((path) => `${path}/file`).join(' ')} /etc/hosts; echo "$WHERRY_ROOT"; pwd; test -s /etc/passwd && echo rest`;
    const text = await output(script, {
      mounts: [...paths.map((path) => mount(path)), mount('/etc/hosts', false, hosts)],
    });
    expect(text).toBe(`${'in the volume\n'.repeat(5)}my hosts\n/\n/\nrest\n`);
    for (const path of paths) expect(existsSync(path)).toBe(false);
    expect(await readFile('/etc/hosts', 'utf8')).not.toBe('my hosts\n');
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain('wherry-data');
    expect(existsSync('/dev/termination-log')).toBe(false);
  });

  it('are set up by one process, however many there are, and of the machine', async () => {
    const tools = namespaces!;
    const folder = await mkdtemp(join(tmpdir(), 'wherry-root-'));
    const lines: (readonly string[])[] = [];
    const counting = new Proxy(spawner, {
      get: (of, name) => {
        const value = of[name as keyof Spawner] as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'spawn' && name !== 'run') return value.bind(of);
        return (command: string[], ...rest: unknown[]) => {
          lines.push(command);
          return (value as (...args: unknown[]) => unknown).call(of, command, ...rest);
        };
      },
    });
    const scripts: string[] = [];
    for (const [i, count] of [0, 3, 30].entries())
      for (const readOnly of [false, true]) {
        const mounts = Array.from({ length: count }, (_, n) => mount(`/wherry-many/${n}`));
        const request = { folder: join(folder, `${i}${readOnly}`), mounts, workingDir: '/', readOnly };
        const root = await NamespaceRoot.make(request, tools, counting);
        await root.release();
        expect(lines).toHaveLength(1);
        scripts.push(lines.pop()!.find((word) => word.includes('pivot_root'))!);
      }
    // All are bound by the two tables of one program, and the one thing that is mounted again is the root.
    expect(new Set(scripts).size).toBe(1);
    expect(scripts[0]!.match(/\bremount\b/g)).toHaveLength(1);
    expect(scripts[0]!.match(/\bmount -a\b/g)).toHaveLength(2);
    expect(scripts[0]).not.toMatch(/\b(?:for|while|xargs)\b/);
    await rm(folder, { recursive: true });
  });

  it('are beside a folder /tmp of its own, with what the command names of the machine', async () => {
    const name = join(tmpdir(), `wherry-private-${process.pid}`);
    await writeFile(name, 'of the machine\n');
    const script = `test -e ${name} || echo hidden; stat -c %a /tmp; echo mine > ${name}; cat ${name}`;
    expect(await output(script, {})).toBe('hidden\n1777\nmine\n');
    expect(await readFile(name, 'utf8')).toBe('of the machine\n');
    await rm(name);
    // A second run begins with an empty one.
    expect(await output('ls -A /tmp', {})).toBe('');
    // A program that is being developed below /tmp, and a volume at /tmp.
    const folder = await mkdtemp(join(tmpdir(), 'wherry-developed-'));
    await writeFile(join(folder, 'run'), '#!/bin/sh\necho developed\n', { mode: 0o755 });
    expect(await output(`${folder}/run`, {})).toBe('developed\n');
    expect(await output('cat /tmp/file', { mounts: [mount('/tmp')] })).toBe('in the volume\n');
    await rm(folder, { recursive: true });
  });

  it('are beside files of the image, which can be run and copied into volumes', async () => {
    const image = { entrypoint: [], args: [], paths: { '/ko-app/entrypoint': join(source, 'tool') } };
    const volume = await mkdtemp(join(tmpdir(), 'wherry-bin-'));
    const mounts = [mount('/tekton/bin', false, volume)];
    const script =
      '/ko-app/entrypoint one; cp /ko-app/entrypoint /tekton/bin/entrypoint; /tekton/bin/entrypoint two';
    expect(await output(script, { image, mounts })).toBe('tool one\ntool two\n');
    expect(await readdir(volume)).toEqual(['entrypoint']);
    const direct = await pod.start({ image, command: ['/ko-app/entrypoint', 'three'] });
    await direct.exited;
    expect(await pod.log()).toBe('tool three\n');
    expect(existsSync('/ko-app')).toBe(false);
    await rm(volume, { recursive: true });
  });

  it('are written to, or not', async () => {
    // Proves writable and read-only mounts of one volume.
    const text = await output(
      'echo new > /wherry-rw/made; cat /wherry-ro/made; echo no > /wherry-ro/made || echo refused; rm /wherry-rw/made',
      { mounts: [mount('/wherry-rw'), mount('/wherry-ro', true)] },
    );
    expect(text).toContain('new\n');
    expect(text).toContain('refused\n');
    expect(await readdir(source)).toEqual(['file', 'tool']);
  });

  it('lie in each other', async () => {
    // Proves a mount inside another: its mount point is created in the outer mount.
    const inner = await mkdtemp(join(tmpdir(), 'wherry-inner-'));
    const outer = await mkdtemp(join(tmpdir(), 'wherry-outer-'));
    await writeFile(join(inner, 'deep'), 'deep\n');
    const text = await output('cat /wherry-data/x/y/deep /wherry-data/one', {
      mounts: [
        mount('/wherry-data/x/y', true, inner),
        mount('/wherry-data', false, outer),
        mount('/wherry-data/one', true, join(source, 'file')),
      ],
    });
    expect(text).toBe('deep\nin the volume\n');
    expect(await readdir(join(outer, 'x/y'))).toEqual([]);
    await rm(inner, { recursive: true });
    await rm(outer, { recursive: true });
  });

  it('do not let a volume lead the agent astray', async () => {
    // Proves that a link which a container has left in a volume is not followed out of it.
    const outer = await mkdtemp(join(tmpdir(), 'wherry-outer-'));
    const victim = await mkdtemp(join(tmpdir(), 'wherry-victim-'));
    await symlink(victim, join(outer, 'link'));
    await expect(
      pod.shell('true', { mounts: [mount('/wherry-data', false, outer), mount('/wherry-data/link/x')] }),
    ).rejects.toThrow();
    expect(await readdir(victim)).toEqual([]);
    await rm(outer, { recursive: true });
    await rm(victim, { recursive: true });
  });

  it('leave the machine usable: devices, processes, programs, new files', async () => {
    // Proves that rebuilt folders show the contents of the real ones.
    const before = (await readdir('/dev')).sort();
    const text = await output(
      'head -c 3 /dev/zero | wc -c; echo x > /dev/null; ls /dev | tr "\\n" " "; echo; test -d /proc/$$ && echo proc; echo new > /etc/made-here; cat /etc/made-here',
      { mounts: [mount('/etc/wherry-config')] },
    );
    const [count, devices, proc, made] = text.trim().split('\n');
    expect(count).toBe('3');
    expect(
      devices!
        .trim()
        .split(' ')
        .filter((name) => name !== 'termination-log')
        .sort(),
    ).toEqual(before);
    expect([proc, made]).toEqual(['proc', 'new']);
    expect(existsSync('/etc/made-here')).toBe(false);
  });

  it('are seen by commands beside the container, with pipes and with a terminal', async () => {
    // Proves that exec uses the same mounts, folder and user, and finds programs in mounts.
    const container = await pod.start({ mounts: [mount('/wherry-data')], workingDir: '/wherry-data' });
    const [piped, terminal, missing] = [new TestSession(), new TestSession({ tty: true }), new TestSession()];
    expect(await container.exec(['/wherry-data/tool', 'a=b', '-x'], piped)).toEqual({ kind: 'success' });
    expect(piped.out).toBe('tool a=b -x\n');
    await container.exec(['sh', '-c', 'pwd; cat file; tty > /dev/null && echo tty'], terminal);
    expect(terminal.out).toBe('/wherry-data\r\nin the volume\r\ntty\r\n');
    expect(await container.exec(['/wherry-data/none'], missing)).toEqual({ kind: 'exit', code: 127 });
  });

  it('bring termination messages and working directories', async () => {
    // Proves /dev/termination-log, another path, and a working directory that does not exist.
    const end = async (script: string, wanted: Wanted = {}) => (await pod.shell(script, wanted)).exited;
    expect(await end('echo bye > /dev/termination-log')).toMatchObject({ message: 'bye\n' });
    const elsewhere = { container: { terminationMessagePath: '/wherry-why/file' } };
    expect(await end('echo why > /wherry-why/file', elsewhere)).toMatchObject({ message: 'why\n' });
    await end('pwd; echo x > y && cat y', { workingDir: '/wherry-app/dir' });
    expect(await pod.log()).toBe('/wherry-app/dir\nx\n');
    expect(existsSync('/wherry-app')).toBe(false);
  });

  it('work for other users', async () => {
    // Proves that an unprivileged container can write to its volume and its termination message.
    const own = await mkdtemp(join(tmpdir(), 'wherry-own-'));
    await chmod(own, 0o777);
    const container = await pod.shell('id -u > /wherry-data/id; echo done > /dev/termination-log', {
      mounts: [mount('/wherry-data', false, own)],
      container: { securityContext: { runAsUser: 4321 } },
    });
    expect(await container.exited).toMatchObject({ exitCode: 0, message: 'done\n' });
    expect(await readFile(join(own, 'id'), 'utf8')).toBe('4321\n');
    await rm(own, { recursive: true });
  });

  it('are refused in known words where they cannot be', async () => {
    // Proves the failures of a start, and that nothing is left of them.
    const failure = (path: string, from = source): Promise<unknown> =>
      pod
        .shell('true', { container: { name: 'bad' }, mounts: [mount(path, false, from)] })
        .catch((error) => error);
    expect(await failure('/')).toMatchObject({
      reason: 'CreateContainerError',
      message: 'cannot mount at "/"',
    });
    expect(await failure('relative')).toMatchObject({ reason: 'CreateContainerError' });
    expect(await failure('/proc/wherry')).toMatchObject({
      message: expect.stringContaining('belongs to the kernel'),
    });
    expect(await failure('/wherry-x', '/no/such/source')).toMatchObject({
      message: expect.stringContaining('does not exist'),
    });
    expect(await failure('/etc/passwd')).toMatchObject({
      message: expect.stringContaining('cannot mount: '),
    });
    expect(await readdir(join(pod.folder, 'pods/uid-1/containers/bad'))).toEqual([]);
  });

  it('leave nothing behind', async () => {
    // Proves that neither a mount nor the root's folder is left after the end.
    await output('true', { mounts: [mount('/wherry-data')] });
    expect(await readdir(join(pod.folder, 'pods/uid-1/containers/main'))).toEqual(['0.log']);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(pod.folder);
    expect(await readdir(source)).toEqual(['file', 'tool']);
    expect(pod.errors).toEqual([]);
  });
});

describe('mounts as links in a folder', () => {
  let pod: ProcessPod;
  beforeAll(async () => {
    pod = await ProcessPod.make({ roots: 'folder' });
  });
  afterEach(() => pod.clear());
  afterAll(() => pod.close());

  it('are found below WHERRY_ROOT, and from the working directory', async () => {
    // Proves mounts without root, deep and nested ones too, for the main process and for exec.
    const inner = await mkdtemp(join(tmpdir(), 'wherry-inner-'));
    const outer = await mkdtemp(join(tmpdir(), 'wherry-outer-'));
    await writeFile(join(inner, 'deep'), 'deep\n');
    const mounts = [mount(token), mount('/data', false, outer), mount('/data/x/y', false, inner)];
    for (let attempt = 0; attempt < 2; attempt++) {
      const container = await pod.shell(`cat "$WHERRY_ROOT${token}/file" .${token}/file data/x/y/deep`, {
        mounts,
        attempt,
      });
      expect((await container.exited).exitCode).toBe(0);
      expect(await pod.log({}, attempt)).toBe('in the volume\nin the volume\ndeep\n');
    }
    expect(existsSync(join(source, 'file'))).toBe(true);
    expect(existsSync(join(inner, 'deep'))).toBe(true);
    await rm(inner, { recursive: true });
    await rm(outer, { recursive: true });
  });

  it('are where programs are found, and a working directory is', async () => {
    // Proves that a command in a mount runs although the path only exists in the container.
    const container = await pod.start({
      command: ['/scripts/tool', '/scripts/tool'],
      mounts: [mount('/scripts')],
      workingDir: '/scripts',
    });
    expect((await container.exited).exitCode).toBe(0);
    expect(await pod.log()).toBe('tool /scripts/tool\n');
  });

  it('never remove what is somebody else’s', async () => {
    // Proves that a non-empty folder in place of a nested mount is left alone and reported.
    const outer = await mkdtemp(join(tmpdir(), 'wherry-outer-'));
    await mkdir(join(outer, 'sub'));
    await writeFile(join(outer, 'sub/precious'), '');
    const start = pod.shell('true', { mounts: [mount('/data', false, outer), mount('/data/sub')] });
    await expect(start).rejects.toThrow('something else is there');
    expect(await readdir(join(outer, 'sub'))).toEqual(['precious']);
    await rm(outer, { recursive: true });
  });
});
