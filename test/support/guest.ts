/**
 * `wherry up` on a machine that is not this one: with the code of another system, another user, time zone or language,
 * without /proc, in a folder whose name has spaces and letters of other scripts. Each runs a pod from a manifest with
 * Windows' ends of lines, and ends with nothing left.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { command } from './child.ts';
import { Client } from './http.ts';

/** Time limit for a step on a busy machine. */
const patienceMs = 60_000;

export interface Guest {
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  /** A command that runs the one behind it. */
  readonly before?: readonly string[];
  readonly args?: readonly string[];
  /** Where a program stands in for one of another system. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** A pod whose process can be known by its argument. */
const manifest = (seconds: number): string => `apiVersion: v1
kind: Pod
metadata: { name: guest }
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: any
    command: [sh, -c, 'echo "$WORDS"; sleep ${seconds} & wait']
    env: [{ name: WORDS, value: "grüß 你好" }]
`;

/** What a guest was and did. */
export interface Stay {
  readonly printed: string;
  readonly nodeInfo: Record<string, string>;
  readonly log: string;
  readonly startTime: string;
}

const podPath = '/api/v1/namespaces/default/pods/guest';

export async function stayOf({ env = {}, uid, before = [], args = [], programs = {} }: Guest): Promise<Stay> {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry guest äß 你-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const seconds = randomInt(1e6, 1e7);
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, text] of Object.entries(programs))
    writeFileSync(path.join(bin, name), text, { mode: 0o755 });
  writeFileSync(path.join(folder, 'pod.yaml'), manifest(seconds).replaceAll('\n', '\r\n'));
  chmodSync(folder, 0o777);
  const words = [...before, process.execPath, command, 'up', '--port', '0', '--secure-port', 'off'];
  const line = [
    ...words,
    '--docker-socket',
    'off',
    '--cri-socket',
    'off',
    '--manifests',
    'pod.yaml',
    ...args,
  ];
  const child = spawn(line[0]!, line.slice(1), {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: {
      ...process.env,
      PATH: `${bin}:${process.env.PATH}`,
      HOME: folder,
      XDG_DATA_HOME: path.join(folder, 'Daten'),
      KUBECONFIG: path.join(folder, 'kubeconfig'),
      ...env,
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await expect.poll(() => printed, { timeout: patienceMs }).toContain('\nTry: ');
  const client = new Client(/ready at (\S+)/.exec(printed)![1]!);
  const pod = async () => (await client.get(podPath)).body;
  await expect.poll(async () => (await pod()).status?.phase, { timeout: patienceMs }).toBe('Running');
  const read = async () => (await client.get(`${podPath}/log`)).text;
  await expect.poll(read, { timeout: patienceMs }).toContain('\n');
  const [log, { status }, nodes] = [await read(), await pod(), (await client.get('/api/v1/nodes')).body];
  const exited = once(child, 'exit');
  process.kill(child.pid!, 'SIGTERM');
  expect(await exited, printed).toEqual([0, null]);
  await expect.poll(() => left(String(seconds)), { timeout: patienceMs }).toEqual([]);
  return { printed, nodeInfo: nodes.items[0].status.nodeInfo, log, startTime: status.startTime };
}

/** Processes of this machine with a word in their arguments. */
function left(word: string): string[] {
  const lines = existsSync('/proc/self')
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(commandLine)
    : execFileSync('ps', ['-axwwo', 'args='], { encoding: 'utf8' }).split('\n');
  return lines.filter((text) => text.includes(word));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
