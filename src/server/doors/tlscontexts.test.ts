/**
 * Proves what certificate a TLS client is shown by the door: by name, by address when it sends no name, and after files have
 * changed; and that sessions end when an authority of clients is taken away.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Authority, makeAuthority, servingUsages, yearMs } from '../../pki/authority.ts';
import { ClusterCertificates } from '../../pki/clustercertificates.ts';
import { TlsFiles, type TlsFilesOptions } from '../../pki/tlsfiles.ts';
import { Proxied } from '../pods/proxying.case.ts';
import { as, Secured } from './secured.case.ts';

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

async function open(options: Partial<TlsFilesOptions>): Promise<void> {
  tls = new TlsFiles(certificates, {
    serving: undefined,
    named: [],
    clientCAFile: undefined,
    log: () => undefined,
    ...options,
  });
  secured = new Secured({ tls });
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
