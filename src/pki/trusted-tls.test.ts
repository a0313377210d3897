/** Proves whom connections trust by a bundle of certificates: who signed, by key and not by name; and nobody else. */
import { once } from 'node:events';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { Authority, clientUsages, makeAuthority, servingUsages } from './authority.ts';
import { connectTrusted, TrustedAgent } from './trusted-tls.ts';

const dayMs = 86_400_000;
const now = Date.now();
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const authority = (name: string): Authority => new Authority(makeAuthority(name, now));
const issue = {
  subject: { commonName: 'one name' },
  usages: servingUsages,
  hosts: ['127.0.0.1'],
  lifeMs: dayMs,
};

/** What a client with this bundle gets of a server with this certificate, and how many requests the server saw. */
async function asked(
  { cert, key }: { cert: string; key: string },
  ca: string,
): Promise<{ answer: string; requests: number }> {
  let requests = 0;
  const server = createServer({ cert, key }, (_request, response) => {
    requests++;
    response.end('hello');
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new TrustedAgent({ keepAlive: true, ca });
  closers.push(() => {
    agent.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const answer = await new Promise<string>((resolve) => {
    get({ host: '127.0.0.1', port, agent }, (response) =>
      response.on('data', (data: Buffer) => resolve(data.toString())),
    ).on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? error.message));
  });
  return { answer, requests };
}

describe('a server is trusted', () => {
  it('when the authority that signed it has its name', async () => {
    const signer = authority('one name');
    expect(await asked(signer.issue(issue, now), signer.pem.cert)).toEqual({ answer: 'hello', requests: 1 });
  });

  it('when several authorities of the bundle have one name, whichever signed it', async () => {
    const [first, second] = [authority('one name'), authority('one name')];
    for (const signer of [first, second])
      for (const bundle of [first.pem.cert + second.pem.cert, second.pem.cert + first.pem.cert])
        expect((await asked(signer.issue(issue, now), bundle)).answer).toBe('hello');
  });

  it('when the bundle is its own certificate', async () => {
    const own = authority('one name').issue(issue, now);
    expect((await asked(own, own.cert)).answer).toBe('hello');
  });

  it('by what can be read of a bundle', async () => {
    const signer = authority('one name');
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    expect((await asked(signer.issue(issue, now), signer.pem.cert + broken)).answer).toBe('hello');
  });
});

describe('a server is not trusted, and is sent nothing', () => {
  const unknown = { answer: 'DEPTH_ZERO_SELF_SIGNED_CERT', requests: 0 };

  it('when another authority of the same name signed it', async () => {
    const own = authority('one name').issue(issue, now);
    expect(await asked(own, authority('one name').pem.cert)).toEqual(unknown);
  });

  it('when it is for another host, for clients, or over', async () => {
    const signer = authority('one name');
    const made = (change: object, atMs = now) => signer.issue({ ...issue, ...change }, atMs);
    expect(await asked(made({ hosts: ['elsewhere.example'] }), signer.pem.cert)).toEqual({
      answer: 'ERR_TLS_CERT_ALTNAME_INVALID',
      requests: 0,
    });
    for (const own of [made({ usages: clientUsages }), made({}, now - 2 * dayMs)]) {
      const { answer, requests } = await asked(own, signer.pem.cert);
      expect(answer).toMatch(/^(?:INVALID_PURPOSE|CERT_HAS_EXPIRED|DEPTH_ZERO_SELF_SIGNED_CERT)$/);
      expect(requests).toBe(0);
    }
  });

  it('when a certificate signed it that is no authority', async () => {
    const signer = authority('one name');
    const between = signer.issue({ ...issue, usages: [...servingUsages, 'cert sign'] }, now);
    const leaf = new Authority(between).issue(issue, now);
    const chain = { cert: leaf.cert + between.cert, key: leaf.key };
    expect((await asked(chain, signer.pem.cert)).requests).toBe(0);
  });

  it('by a bundle without certificates', async () => {
    const own = authority('one name').issue(issue, now);
    expect((await asked(own, 'nothing')).requests).toBe(0);
  });
});

describe('a server with a name that is too long', () => {
  const options = { port: 1, host: '127.0.0.1', servername: 'a'.repeat(256) };

  it('is not connected to: OpenSSL would close the connections of others', async () => {
    const own = authority('things');
    const faults: string[] = [];
    const server = createTlsServer(own.issue(issue, now), (socket) =>
      socket.on('data', (data) => socket.write(data)).on('error', (error) => faults.push(error.message)),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const neighbour = connectTrusted({ port, host: '127.0.0.1', ca: own.pem.cert });
    closers.push(() => {
      neighbour.destroy();
      server.close();
    });
    const echo = async (text: string): Promise<void> => {
      neighbour.write(text);
      const [data] = await once(neighbour, 'data');
      expect(String(data)).toBe(text);
    };
    await once(neighbour, 'secureConnect');
    await echo('before');
    for (const ca of [{}, { ca: own.pem.cert }])
      expect(() => connectTrusted({ ...options, ...ca, port })).toThrow('getaddrinfo ENOTFOUND');
    await echo('after');
    expect(faults).toEqual([]);
  });

  it('fails the request of an agent, with a bundle and without', async () => {
    for (const ca of [{}, { ca: authority('things').pem.cert }]) {
      const agent = new TrustedAgent(ca);
      closers.push(() => agent.destroy());
      const [error] = await once(get({ ...options, agent }), 'error');
      expect((error as NodeJS.ErrnoException).code).toBe('ENOTFOUND');
    }
  });
});
