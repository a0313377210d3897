/**
 * A test harness like controller-runtime's envtest: writes certificates, starts `etcd` and `kube-apiserver` from a folder
 * of assets with its flags, waits for their health, and makes users by client certificates.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Authority, clientUsages, makeAuthority, servingUsages } from '../../src/pki/authority.ts';
import { freePorts } from '../support/free-ports.ts';

const command = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url));
const lifeMs = 7 * 86_400_000;
/** Each look is a handshake with TLS once the server listens. */
const pollMs = 100;
const waitMaxMs = 60_000;

export const execute = promisify(execFile);

/** Runs a program to its end, whatever its exit code. */
export async function outcome(
  file: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  try {
    return { code: 0, ...(await execute(file, args)) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

/** Writes the programs into a new folder. */
export async function assets(...options: string[]): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-assets-'));
  await execute(process.execPath, [command, 'envtest', folder, ...options]);
  return folder;
}

export interface Answer {
  readonly code: number;
  readonly text: string;
}

/** What a client shows of itself. */
export interface Identity {
  readonly cert?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type MoreFlags = Readonly<Record<string, string | undefined>>;

export class ControlPlane {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'wherry-plane-'));
  readonly certDir = path.join(this.folder, 'certs');
  readonly dataDir = path.join(this.folder, 'data');
  readonly #clients = new Authority(makeAuthority('envtest-environment', Date.now()));
  readonly #programs: ChildProcess[] = [];
  readonly errors: string[] = [];
  etcdUrl = '';
  url = '';

  constructor(private readonly assets: string) {
    mkdirSync(this.certDir);
    const serving = new Authority(makeAuthority('envtest-environment', Date.now()));
    const hosts = ['localhost', '127.0.0.1'];
    const subject = { commonName: 'localhost', organizations: ['envtest'] };
    const served = serving.issue({ subject, usages: servingUsages, hosts, lifeMs }, Date.now());
    const signer = new Authority(makeAuthority('envtest-environment', Date.now()));
    const signed = signer.issue({ subject, usages: servingUsages, hosts, lifeMs }, Date.now());
    this.#write('apiserver.crt', served.cert);
    this.#write('apiserver.key', served.key);
    this.#write('sa-signer.crt', signed.cert);
    this.#write('sa-signer.key', signed.key);
    this.#write('client-cert-auth-ca.crt', this.#clients.pem.cert);
  }

  #write(name: string, text: string): void {
    writeFileSync(path.join(this.certDir, name), text, { mode: 0o640 });
  }

  /** A client certificate, which can be made at any time. */
  user(commonName: string, ...organizations: string[]): { cert: string; key: string } {
    return certificateBy(this.#clients, commonName, organizations, Date.now());
  }

  /** A certificate that has expired. */
  formerUser(commonName: string, ...organizations: string[]): Identity {
    return certificateBy(this.#clients, commonName, organizations, Date.now() - 2 * lifeMs);
  }

  /** A certificate of an authority that the server does not know, with the name of the one it does. */
  foreignUser(commonName: string, ...organizations: string[]): Identity {
    const foreign = new Authority(makeAuthority('envtest-environment', Date.now()));
    return certificateBy(foreign, commonName, organizations, Date.now());
  }

  /** The authority that signs certificates of users. */
  get authority(): string {
    return this.#clients.pem.cert;
  }

  get admin(): Identity {
    return this.user('admin', 'system:masters');
  }

  /** Chooses ports for etcd; returns its flags. */
  async etcdFlags(): Promise<string[]> {
    const [client, peer] = await freePorts(2);
    this.etcdUrl = `http://127.0.0.1:${client}`;
    const flags = {
      'advertise-client-urls': this.etcdUrl,
      'data-dir': this.dataDir,
      'listen-client-urls': this.etcdUrl,
      'listen-peer-urls': `http://127.0.0.1:${peer}`,
      'unsafe-no-fsync': 'true',
    };
    return lines(flags);
  }

  async startEtcd(...more: string[]): Promise<ChildProcess> {
    const child = this.#spawn('etcd', [...(await this.etcdFlags()), ...more]);
    await until('etcd answers', async () => (await getPlain(`${this.etcdUrl}/health`))?.code === 200, child);
    return child;
  }

  /** Chooses a port for the server; returns its flags. A flag of the harness that is undefined is left out. */
  async serverFlags(more: MoreFlags = {}): Promise<string[]> {
    const [port] = await freePorts(1);
    this.url = `https://127.0.0.1:${port}`;
    const flags = {
      'allow-privileged': 'true',
      'authorization-mode': 'RBAC',
      'bind-address': '127.0.0.1',
      'cert-dir': this.certDir,
      'client-ca-file': path.join(this.certDir, 'client-cert-auth-ca.crt'),
      'disable-admission-plugins': 'ServiceAccount',
      'etcd-servers': this.etcdUrl,
      'secure-port': `${port}`,
      'service-account-issuer': `${this.url}/`,
      'service-account-key-file': path.join(this.certDir, 'sa-signer.crt'),
      'service-account-signing-key-file': path.join(this.certDir, 'sa-signer.key'),
      'service-cluster-ip-range': '10.0.0.0/24',
      ...more,
    };
    return lines(flags);
  }

  /** @param asker who asks for its health; undefined: nobody in particular */
  async startServer(more: MoreFlags = {}, asker?: Identity): Promise<ChildProcess> {
    const child = this.#spawn('kube-apiserver', await this.serverFlags(more));
    const healthy = async () => (await this.get('/healthz', asker))?.code === 200;
    await until('the server is healthy', healthy, child).catch((error: Error) => {
      throw new Error(`${error.message}: ${this.errors.join('')}`);
    });
    return child;
  }

  /** Writes a file that a flag names; returns its path. */
  write(name: string, content: string | object): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
    return file;
  }

  /** Writes a certificate for servers of these names, and its key. */
  writeServing(name: string, ...hosts: string[]): { certFile: string; keyFile: string } {
    const made = servingCertificate(...hosts);
    return {
      certFile: this.write(`${name}.crt`, made.cert),
      keyFile: this.write(`${name}.key`, made.key),
    };
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    // Harnesses start programs with whatever environment they have.
    const child = spawn(path.join(this.assets, program), args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {},
      cwd: this.folder,
      detached: true,
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => this.errors.push(text));
    this.#programs.push(child);
    return child;
  }

  /** Without verification, as harnesses ask for the health; undefined when no answer came. */
  get(where: string, identity?: Identity): Promise<Answer | undefined> {
    return this.ask('GET', where, undefined, identity);
  }

  ask(method: string, where: string, body?: object, identity: Identity = {}): Promise<Answer | undefined> {
    const text = body && JSON.stringify(body);
    const { headers: shown, ...certificate } = identity;
    const headers = { ...(text && { 'Content-Type': 'application/json' }), ...shown };
    return new Promise((resolve) => {
      const options = { method, headers, rejectUnauthorized: false, agent: false, ...certificate };
      const asked = request(new URL(where, this.url), options, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        response.on('close', () => resolve({ code: response.statusCode!, text: answer }));
      });
      asked.on('error', () => resolve(undefined));
      asked.end(text);
    });
  }

  /** Begins a watch; resolves with the promise of its end when the first events have come. */
  watch(where: string, identity: Identity): Promise<{ readonly ended: Promise<Answer> }> {
    return new Promise((resolve, reject) => {
      const options = { rejectUnauthorized: false, agent: false, ...identity };
      const asked = request(new URL(where, this.url), options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        const ended = new Promise<Answer>((end, fail) => {
          response.on('end', () => end({ code: response.statusCode!, text }));
          response.on('error', fail);
        });
        response.once('data', () => resolve({ ended }));
      });
      asked.on('error', reject);
      asked.end();
    });
  }

  async close(): Promise<void> {
    for (const child of this.#programs.toReversed()) await stopped(child, 'SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const certificateBy = (
  authority: Authority,
  commonName: string,
  organizations: readonly string[],
  nowMs: number,
): { cert: string; key: string } =>
  authority.issue({ subject: { commonName, organizations }, usages: clientUsages, lifeMs }, nowMs);

/** Sends a signal to the process group, and resolves with the exit code or the signal that ended the program. */
export async function stopped(child: ChildProcess, signal: NodeJS.Signals): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.kill(-child.pid!, signal);
    await ended;
  }
  return child.exitCode ?? child.signalCode;
}

/** A certificate of an authority of its own. */
export function servingCertificate(...hosts: string[]): { cert: string; key: string; ca: string } {
  const authority = new Authority(makeAuthority('test', Date.now()));
  const plan = { subject: { commonName: hosts[0]! }, usages: servingUsages, hosts, lifeMs };
  return { ...authority.issue(plan, Date.now()), ca: authority.pem.cert };
}

const lines = (flags: MoreFlags): string[] =>
  Object.entries(flags)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `--${name}=${value}`)
    .sort();

export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  child?: ChildProcess,
): Promise<void> {
  const endMs = Date.now() + waitMaxMs;
  while (!(await holds())) {
    if (child && child.exitCode !== null) throw new Error(`${what}: the program has ended`);
    if (Date.now() > endMs) throw new Error(`${what}: not in time`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

export function getPlain(url: string): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const asked = requestHttp(url, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('close', () => resolve({ code: response.statusCode!, text }));
    });
    asked.on('error', () => resolve(undefined));
    asked.end();
  });
}
