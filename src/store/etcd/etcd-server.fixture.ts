/** Real etcd servers for tests: one or several members on free ports, with their data in a temporary folder. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { freePorts } from '../../../test/support/free-ports.ts';
import { MessageWriter } from '../../api/protobuf/message-writer.ts';
import { CallError } from '../../grpc/call-error.ts';
import { Connection, type ConnectionTls } from '../../grpc/connection.ts';
import { COMPACT, decodeRange, decodeStatus, encodeCompact, encodeRange, RANGE, STATUS } from './messages.ts';

/**
 * Runs etcd until the standard input of the shell ends, so that no member outlives the test, however that ends. A member
 * that is killed ends the shell only then, too.
 */
const guard =
  '"$0" "$@" </dev/null >/dev/null 2>&1 & pid=$!; echo $pid; cat >/dev/null; kill -9 $pid 2>/dev/null';

/** The versions of etcd on this machine, by version, such as `3.5`: see `scripts/etcds.mjs`. */
export const etcds: readonly (readonly [version: string, program: string])[] = Object.entries(
  JSON.parse(process.env.WHERRY_ETCDS ?? '{}') as Record<string, string>,
);

interface Member {
  readonly url: string;
  readonly args: readonly string[];
  child: ChildProcessByStdio<Writable, Readable, null>;
  pid: number;
}

export interface TestEtcdOptions {
  /** The first of `etcds` unless it is named. */
  readonly program?: string;
  readonly members?: number;
  /** Files for connections over TLS. */
  readonly tlsArgs?: readonly string[];
  readonly tls?: ConnectionTls;
}

export class TestEtcd {
  readonly #members: Member[] = [];
  readonly #tls: ConnectionTls;

  private constructor(
    private readonly program: string,
    private readonly folder: string,
    tls: ConnectionTls = {},
  ) {
    this.#tls = tls;
  }

  static async start({
    program = etcds[0]?.[1] ?? 'etcd',
    members = 1,
    tlsArgs = [],
    tls,
  }: TestEtcdOptions = {}): Promise<TestEtcd> {
    const etcd = new TestEtcd(program, await mkdtemp(path.join(tmpdir(), 'wherry-etcd-')), tls);
    const ports = await freePorts(members * 2);
    const peers = ports.slice(members).map((port) => `http://127.0.0.1:${port}`);
    const cluster = peers.map((url, i) => `m${i}=${url}`).join(',');
    for (let i = 0; i < members; i++) {
      const url = `${tls ? 'https' : 'http'}://127.0.0.1:${ports[i]}`;
      const args = [
        ['--name', `m${i}`, '--data-dir', path.join(etcd.folder, `m${i}`)],
        ['--listen-client-urls', url, '--advertise-client-urls', url],
        ['--listen-peer-urls', peers[i]!, '--initial-advertise-peer-urls', peers[i]!],
        ['--initial-cluster', cluster, '--initial-cluster-state', 'new', ...tlsArgs],
      ].flat();
      etcd.#members.push({ url, args, ...(await run(program, args)) });
    }
    await Promise.all(etcd.#members.map((_, i) => etcd.#ready(i)));
    return etcd;
  }

  get urls(): string[] {
    return this.#members.map(({ url }) => url);
  }

  /** kill -9 */
  async kill(index: number): Promise<void> {
    const { child } = this.#members[index]!;
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  }

  pause(index: number): void {
    process.kill(this.#members[index]!.pid, 'SIGSTOP');
  }

  resume(index: number): void {
    process.kill(this.#members[index]!.pid, 'SIGCONT');
  }

  /** Starts a killed member again, on its old data. */
  async restart(index: number): Promise<void> {
    const member = this.#members[index]!;
    Object.assign(member, await run(this.program, member.args));
    await this.#ready(index);
  }

  /** The index of the leader. */
  async leader(): Promise<number> {
    const statuses = await Promise.all(this.#members.map((_, i) => this.#status(i)));
    return statuses.findIndex((status) => status?.isLeader);
  }

  /** Compacts all but the newest revisions. */
  async compact(kept: number): Promise<void> {
    const member = await this.leader();
    const connection = await Connection.open(this.#members[Math.max(0, member)]!.url, this.#tls, 2000);
    try {
      const call = (path: string, message: Buffer): Promise<Buffer> => connection.unary(path, message, 5000);
      const { revision } = decodeRange(await call(RANGE, encodeRange({ key: Buffer.from('none') })));
      if (revision > kept) await call(COMPACT, encodeCompact(revision - kept));
    } catch (error) {
      // Compacted further already, or the leader has just changed.
      if (!(error instanceof CallError)) throw error;
    } finally {
      connection.close(new CallError(1, 'done'));
    }
  }

  /** Calls a method of a member directly. */
  async call(index: number, path: string, message: Buffer = Buffer.alloc(0)): Promise<Buffer> {
    const connection = await Connection.open(this.#members[index]!.url, this.#tls, 10_000);
    try {
      return await connection.unary(path, message, 10_000);
    } finally {
      connection.close(new CallError(1, 'done'));
    }
  }

  /** Starts one more member, which may not vote; its address. */
  async addLearner(): Promise<string> {
    const ports = await freePorts(2);
    const [url, peer] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string];
    const request = new MessageWriter().bytes(1, Buffer.from(peer)).number(2, 1).finish();
    await this.call(0, '/etcdserverpb.Cluster/MemberAdd', request);
    const at = (flag: string): string => this.#members[0]!.args[this.#members[0]!.args.indexOf(flag) + 1]!;
    const args = [
      ['--name', 'learner', '--data-dir', path.join(this.folder, 'learner')],
      ['--listen-client-urls', url, '--advertise-client-urls', url],
      ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ['--initial-cluster', `${at('--initial-cluster')},learner=${peer}`],
      ['--initial-cluster-state', 'existing'],
    ].flat();
    this.#members.push({ url, args, ...(await run(this.program, args)) });
    await this.#ready(this.#members.length - 1);
    return url;
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((_, i) => this.kill(i)));
    await rm(this.folder, { recursive: true, force: true });
  }

  async #ready(index: number): Promise<void> {
    for (let attempt = 0; attempt < 2400; attempt++) {
      if ((await this.#status(index))?.hasLeader) return;
      const member = this.#members[index]!;
      if (await hasEnded(member.pid)) {
        // Another process has its port just now: ports are free for all while a member is down.
        await this.kill(index);
        Object.assign(member, await run(this.program, member.args));
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('etcd did not start within two minutes');
  }

  async #status(index: number) {
    const connection = await Connection.open(this.#members[index]!.url, this.#tls, 2000).catch(
      () => undefined,
    );
    try {
      return decodeStatus(await connection!.unary(STATUS, Buffer.alloc(0), 2000));
    } catch {
      return undefined;
    } finally {
      connection?.close(new CallError(1, 'done'));
    }
  }
}

/** Linux only, like the packages of etcd. */
async function hasEnded(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z');
  return stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
}

async function run(program: string, args: readonly string[]): Promise<Pick<Member, 'child' | 'pid'>> {
  const child = spawn('sh', ['-c', guard, program, ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // Debian's etcd refuses to start on other processors without this.
    env: { ...process.env, ETCD_UNSUPPORTED_ARCH: 'arm64' },
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, pid: Number(line.toString()) };
}
