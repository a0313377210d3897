/** TLS at the ingress: certificates from secrets, chosen by SNI, and redirects from HTTP to HTTPS. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import { events, ingresses, secrets } from '../client/resources.ts';
import { costlyCertificate, costlyCertificateKey } from '../pki/costly-key.fixture.ts';
import { issueServingCertificate, makeNodeAuthority, type NodeAuthority } from '../pki/node-certificates.ts';
import { answered, ask, expose, listening, namespace, route, until, useIngress } from './ingress.fixture.ts';
import { falseNumbers, rsaCertificate, trueNumbers } from './rsa-secret.fixture.ts';

const stage = useIngress();
const port = () => stage.controller.port;
const tlsPort = () => stage.controller.tlsPort!;
let authority: NodeAuthority;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A secret with a certificate for a name. */
async function certify(
  secret: string,
  name: string,
  change = false,
  type = 'kubernetes.io/tls',
): Promise<void> {
  const { cert, key } = await issueServingCertificate(authority.ca, { names: [name] });
  const data = { 'tls.crt': base64(cert), 'tls.key': base64(key) };
  if (change) await stage.client.patch(secrets, namespace, secret, { data });
  else await stage.client.create(secrets, namespace, { metadata: { name: secret }, type, data });
}

interface Handshake {
  readonly names?: string;
  readonly protocol?: string | null;
  readonly failed?: string;
}

/** The certificate that a client with this SNI name gets. */
function handshake(servername: string | undefined, options: object = {}): Promise<Handshake> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      host: '127.0.0.1',
      port: tlsPort(),
      servername,
      rejectUnauthorized: false,
      ...options,
    });
    socket
      .once('secureConnect', () => {
        const { subjectaltname } = socket.getPeerCertificate() as PeerCertificate;
        resolve({ names: subjectaltname?.replaceAll('DNS:', ''), protocol: socket.getProtocol() });
        socket.destroy();
      })
      .on('error', (error: NodeJS.ErrnoException) => resolve({ failed: error.code }));
  });
}

const shows = (servername: string | undefined, names: string): Promise<Handshake> =>
  until(
    () => handshake(servername),
    (shown) => shown.names === names,
  );

beforeAll(async () => {
  authority = await makeNodeAuthority(Date.now());
  const web = createServer(({ headers }, response) => response.end(headers['x-forwarded-proto']));
  new WebSocketServer({ server: web }).on('connection', (socket, { headers }) =>
    socket.send(`hello ${headers['x-forwarded-proto']}`),
  );
  await expose(stage.client, 'web', await listening(web));
});

const backendOfWeb = (host?: string) => [
  { host, http: { paths: [{ path: '/', backend: { serviceName: 'web', servicePort: 80 } }] } },
];

describe('certificates', () => {
  it('without any, handshakes fail and HTTP is not redirected', async () => {
    // Proves that no self-made certificate is used, and that HTTP still works when a secret is missing.
    expect((await handshake('a.com')).failed).toBeDefined();
    await route(stage.client, 'a', 'a.com', {
      rules: backendOfWeb('a.com'),
      tls: [{ hosts: ['a.com'], secretName: 'a' }],
    });
    expect((await answered(port(), 'a.com', 200)).text).toBe('http');
  });

  it('come with their secrets, are chosen by name, and change with the secrets', async () => {
    // Proves exact names before wildcards before the default, and that a renewed certificate is used at once.
    await certify('a', 'a.com');
    await shows('a.com', 'a.com');
    expect(await ask(tlsPort(), 'a.com', { secure: true })).toMatchObject({ status: 200, text: 'https' });
    await certify('wild', '*.b.com', false, 'Opaque');
    const tls = [{ hosts: ['*.b.com'], secretName: 'wild' }];
    await route(stage.client, 'b', '*.b.com', { rules: backendOfWeb('*.b.com'), tls });
    await shows('x.b.com', '*.b.com');
    expect((await handshake('x.y.b.com')).names).toBe('a.com');
    expect((await handshake('X.B.com')).names).toBe('*.b.com');
    expect((await handshake(undefined)).names).toBe('a.com');
    await certify('a', 'renewed.a.com', true);
    await shows('a.com', 'renewed.a.com');
    await shows(undefined, 'renewed.a.com');
    expect(stage.failures).toEqual([]);
  });

  it('that cannot be used are told of, and the others stay', async () => {
    // Proves that a broken secret affects only its own hosts, with an event on its ingress.
    const [one, other] = [
      await issueServingCertificate(authority.ca, { names: ['bad.com'] }),
      await issueServingCertificate(authority.ca, { names: ['bad.com'] }),
    ];
    const data = { 'tls.crt': base64(one.cert), 'tls.key': base64(other.key) };
    await stage.client.create(secrets, namespace, {
      metadata: { name: 'bad' },
      type: 'kubernetes.io/tls',
      data,
    });
    const tls = [
      { hosts: ['bad.com'], secretName: 'bad' },
      { hosts: ['worse.com'], secretName: 'missing' },
    ];
    await route(stage.client, 'bad', 'bad.com', { rules: backendOfWeb('bad.com'), tls });
    const told = await until(
      async () =>
        (await stage.client.list(events)).items.filter((event) => event.involvedObject?.name === 'bad'),
      (list) => list.length === 2,
    );
    expect(told.map(({ reason, message }) => `${reason} ${message}`).sort()).toEqual([
      expect.stringMatching(
        /^BadCertificate secret default\/bad has no certificate with its key: .*mismatch/,
      ),
      'BadCertificate secret default/missing does not exist',
    ]);
    expect((await ask(port(), 'bad.com')).status).toBe(200);
    expect((await handshake('bad.com')).names).toBe('renewed.a.com');
    expect((await handshake('x.b.com')).names).toBe('*.b.com');
  });

  it('whose keys would hold the event loop are not used, and honest RSA keys are', async () => {
    // Proves that users of the cluster cannot bring keys with which each handshake takes seconds.
    const made = {
      long: rsaCertificate('c.com', falseNumbers(8_192)),
      false: rsaCertificate('c.com', falseNumbers(2_048)),
      exponent: { cert: costlyCertificate, key: costlyCertificateKey },
      chain: { cert: `${costlyCertificate}\n`.repeat(200), key: costlyCertificateKey },
      honest: rsaCertificate('c.com', trueNumbers(2_048)),
    };
    for (const [name, { cert, key }] of Object.entries(made))
      await stage.client.create(secrets, namespace, {
        metadata: { name },
        type: 'Opaque',
        data: { 'tls.crt': base64(cert), 'tls.key': base64(key) },
      });
    const tls = Object.keys(made).map((secretName) => ({ hosts: ['c.com'], secretName }));
    await route(stage.client, 'c', 'c.com', { rules: backendOfWeb('c.com'), tls });
    const told = await until(
      async () =>
        (await stage.client.list(events)).items.filter((event) => event.involvedObject?.name === 'c'),
      (list) => list.length === 4,
    );
    expect(told.map(({ message }) => message).sort()).toEqual([
      'secret default/chain has more than 65536 characters',
      'secret default/exponent cannot be used: the exponent of the key of the certificate is too large',
      'secret default/false what its key signs is wrong',
      'secret default/long cannot be used: its RSA key has more than 4096 bits',
    ]);
    const shown = (): Promise<string | undefined> =>
      new Promise((resolve) => {
        const address = { host: '127.0.0.1', port: tlsPort(), servername: 'c.com' };
        // Node's servers show a client the certificate of the default host that is on a curve, unless it wants RSA.
        const socket: TLSSocket = connect({
          ...address,
          sigalgs: 'RSA-PSS+SHA256',
          rejectUnauthorized: false,
        });
        socket
          .once('secureConnect', () => {
            resolve(socket.getPeerCertificate().subject?.CN as string | undefined);
            socket.destroy();
          })
          .on('error', () => resolve(undefined));
      });
    await until(shown, (name) => name === 'c.com');
  });

  it('are for all hosts of an ingress that names none for them', async () => {
    // Proves that such a certificate becomes the default.
    await certify('all', 'all.com');
    await route(stage.client, 'all', '', { rules: backendOfWeb(), tls: [{ secretName: 'all' }] });
    await shows('unknown.com', 'all.com');
    await stage.client.delete(ingresses, namespace, 'all');
    await shows('unknown.com', 'renewed.a.com');
  });

  it('are not shown to clients of old versions', async () => {
    // Proves that TLS below 1.2 is refused for every host.
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    for (const name of ['a.com', 'x.b.com', undefined])
      expect((await handshake(name, old)).failed).toBeDefined();
    expect((await handshake('a.com', { maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2');
  });
});

it('upgrades work over TLS too', async () => {
  // Proves WebSockets behind TLS, and that an offer of HTTP/2 is ignored there.
  const options = { headers: { Host: 'a.com' }, servername: 'a.com', rejectUnauthorized: false };
  const socket = new WebSocket(`wss://127.0.0.1:${tlsPort()}/`, options);
  expect(String((await once(socket, 'message'))[0])).toBe('hello https');
  socket.terminate();
  const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c' };
  expect((await ask(tlsPort(), 'a.com', { secure: true, headers })).text).toBe('https');
});

describe('HTTP for hosts with TLS', () => {
  it('is redirected, with path and query', async () => {
    // Proves that redirects keep the path and query, name the HTTPS port, and keep the method.
    const reply = await ask(port(), 'x.b.com:99', { method: 'POST', path: '/p%20q/?r=s', body: 'body' });
    expect(reply).toMatchObject({ status: 308, text: '' });
    expect(reply.headers.location).toBe(`https://x.b.com:${tlsPort()}/p%20q/?r=s`);
    const socket = new WebSocket(`ws://127.0.0.1:${port()}/`, { headers: { Host: 'a.com' } });
    socket.on('error', () => undefined);
    const [, answer] = await once(socket, 'unexpected-response');
    expect([answer.statusCode, answer.headers.location]).toEqual([308, `https://a.com:${tlsPort()}/`]);
    socket.terminate();
  });

  it('is served when an annotation says so, or HTTPS is not spoken', async () => {
    // Proves both ways to disable the redirect.
    const annotations = { 'ingress.kubernetes.io/ssl-redirect': 'false' };
    await stage.client.patch(ingresses, namespace, 'b', { metadata: { annotations } });
    await answered(port(), 'x.b.com', 200);
    expect((await ask(port(), 'a.com')).status).toBe(308);
    const plain = await stage.open({ tlsPort: undefined });
    expect((await ask(plain.port, 'a.com')).status).toBe(200);
    await plain.close();
  });
});
