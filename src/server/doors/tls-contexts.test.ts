/**
 * Proves what certificate a TLS client is shown by the door: by name, by address when it sends no name, and after files have
 * changed; that clients get the names of authorities that may have signed their certificates; and that sessions end when one is taken away.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ClientAuthorities, ClientCertificates } from '../../access/authentication/client-certificates.ts';
import { Authority, clientUsages, makeAuthority, servingUsages, yearMs } from '../../pki/authority.ts';
import { ClusterCertificates } from '../../pki/cluster-certificates.ts';
import { TlsFiles, type TlsFilesOptions } from '../../pki/tls-files.ts';
import { optimized } from '../../switches.ts';
import { Proxied } from '../pods/proxying.fixture.ts';
import type { SecureDoorOptions } from './secure-door.ts';
import { as, Secured } from './secured.fixture.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-contexts-'));
afterAll(() => rmSync(folder, { recursive: true }));
const operator = new Authority(makeAuthority('operator', Date.now()));

/** Writes a certificate whose common name is `shown`. */
function put(file: string, shown: string, hosts: string[]): void {
  const { cert, key } = operator.issue(
    { subject: { commonName: shown }, usages: servingUsages, hosts, lifeMs: yearMs },
    Date.now(),
  );
  writeFileSync(path.join(folder, `${file}.crt`), cert);
  writeFileSync(path.join(folder, `${file}.key`), key);
}

const filesOf = (file: string, ...names: string[]) => ({
  certFile: path.join(folder, `${file}.crt`),
  keyFile: path.join(folder, `${file}.key`),
  ...(names.length ? { names } : {}),
});

let secured: Secured;
let server: Proxied;
let tls: TlsFiles;
const certificates = new ClusterCertificates({ hosts: ['h'], nowMs: Date.now, onError: () => undefined });
afterAll(() => certificates.close());

async function open(options: Partial<TlsFilesOptions>, more: Partial<SecureDoorOptions> = {}): Promise<void> {
  tls = new TlsFiles(certificates, {
    serving: undefined,
    named: [],
    clientCAFile: undefined,
    log: () => undefined,
    ...options,
  });
  secured = new Secured({ tls, ...more });
  server = new Proxied({}, () => ({ doors: [secured.door] }));
  await server.start();
}
afterEach(async () => {
  await server.stop();
  secured.close();
  tls.close();
});

const unverified = { rejectUnauthorized: false };
const changed = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = tls.follow(() => {
      stop();
      resolve();
    });
  });

/** The common name of the certificate that a client is shown. */
async function shownTo(options: ConnectionOptions = {}): Promise<string> {
  const socket = await secured.connection({ ...unverified, ...options });
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

describe('a certificate', () => {
  beforeEach(() => {
    put('usual', 'usual', ['usual.example']);
    put('named', 'named', ['a.example', '*.b.example', '127.0.0.1']);
    put('address', 'address', ['127.0.0.1']);
  });

  it('is chosen by the name that a client sends, exact names first', async () => {
    put('exact', 'exact', ['x.b.example']);
    await open({ serving: filesOf('usual'), named: [filesOf('named'), filesOf('exact')] });
    expect(await shownTo({ servername: 'a.example' })).toBe('named');
    expect(await shownTo({ servername: 'A.Example' })).toBe('named');
    expect(await shownTo({ servername: 'y.b.example' })).toBe('named');
    expect(await shownTo({ servername: 'x.b.example' })).toBe('exact');
    expect(await shownTo({ servername: 'y.y.b.example' })).toBe('usual');
    // Addresses in a certificate do not choose it, as with Kubernetes.
    expect(await shownTo()).toBe('usual');
  });

  it('is chosen by the address when no name is sent', async () => {
    const named = [filesOf('named'), filesOf('address', '127.0.0.1')];
    await open({ serving: filesOf('usual'), named });
    expect(await shownTo()).toBe('address');
    expect(await shownTo({ host: '127.0.0.1', servername: 'a.example' })).toBe('named');
    expect(await shownTo({ host: '127.0.0.1', servername: 'unknown.example' })).toBe('usual');
    expect((await secured.http1('/version', as('admin'), unverified)).status).toBe(200);
    const renewed = changed();
    put('address', 'renewed', ['127.0.0.1']);
    await renewed;
    expect(await shownTo()).toBe('renewed');
  });

  it('of a file is read again, also by name, and connections go on', async () => {
    await open({ serving: filesOf('usual'), named: [filesOf('named')] });
    const session = secured.session(unverified);
    const usual = changed();
    put('usual', 'usual-2', ['usual.example']);
    await usual;
    expect(await shownTo()).toBe('usual-2');
    const named = changed();
    put('named', 'named-2', ['a.example']);
    await named;
    expect(await shownTo({ servername: 'a.example' })).toBe('named-2');
    expect(session.closed).toBe(false);
    session.destroy();
  });
});

describe('authorities of clients', () => {
  const clients = new Authority(makeAuthority('clients of this test', Date.now()));
  const client = clients.issue(
    { subject: { commonName: 'carla' }, usages: clientUsages, lifeMs: yearMs },
    Date.now(),
  );
  const known = new ClientCertificates(new ClientAuthorities(clients.pem.cert, Date.now));
  const strangers = new Authority(makeAuthority('clients of this test', Date.now()));
  const stranger = strangers.issue(
    { subject: { commonName: 'carla' }, usages: clientUsages, lifeMs: yearMs },
    Date.now(),
  );

  /** Whether a client gets the name of the authority: up to TLS 1.2, that part of a handshake is not encrypted. */
  async function isHinted(): Promise<boolean> {
    let sent = '';
    const tap = createServer((near) => {
      const far = connectTcp(secured.port, '127.0.0.1');
      far.on('data', (bytes) => (sent += bytes.toString('latin1')));
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    });
    await once(tap.listen(0, '127.0.0.1'), 'listening');
    const { port } = tap.address() as AddressInfo;
    const socket = await secured.connection({ ...unverified, port, maxVersion: 'TLSv1.2' });
    socket.destroy();
    tap.close();
    return sent.includes('clients of this test');
  }

  it('vouch for clients from the start, and are told to them a second later', async () => {
    writeFileSync(path.join(folder, 'hinted.crt'), clients.pem.cert);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      await open({ clientCAFile: path.join(folder, 'hinted.crt') }, { authenticator: known });
      const codes = async () => [
        (await secured.http1('/version', {}, { ...unverified, ...client })).status,
        (await secured.http1('/version', {}, { ...unverified, ...stranger })).status,
      ];
      expect(await codes()).toEqual([200, 401]);
      expect(await isHinted()).toBe(!optimized);
      vi.advanceTimersByTime(1_000);
      expect(await isHinted()).toBe(true);
      expect(await codes()).toEqual([200, 401]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a session', () => {
  /** Whether a client that comes back with its session is known again. */
  async function isResumed(session: Buffer): Promise<boolean> {
    const socket = await secured.connection({ ...unverified, maxVersion: 'TLSv1.2', session });
    const resumed = socket.isSessionReused();
    socket.destroy();
    return resumed;
  }

  it('ends when an authority of clients is taken away', async () => {
    const file = path.join(folder, 'clients.crt');
    const other = new Authority(makeAuthority('other', Date.now()));
    writeFileSync(file, `${operator.pem.cert}${other.pem.cert}`);
    await open({ clientCAFile: file });
    const socket = await secured.connection({ ...unverified, maxVersion: 'TLSv1.2' });
    const session = socket.getSession()!;
    socket.destroy();
    expect(await isResumed(session)).toBe(true);
    const taken = changed();
    writeFileSync(file, other.pem.cert);
    await taken;
    expect(await isResumed(session)).toBe(false);
  });
});
