/** Proves what the secure door does over real TLS: both versions of HTTP, certificates that change, and an orderly end. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { constants } from 'node:http2';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { Credentials } from '../../access/authentication/authenticator.ts';
import { Proxied } from '../pods/proxying.fixture.ts';
import { answerOf, as, http2, Secured, useSecured } from './secured.fixture.ts';

const configMaps = '/api/v1/namespaces/ns/configmaps';
const config = (name: string, data: object = {}): string => JSON.stringify({ metadata: { name }, data });
const secured = useSecured();
const { api } = secured;
afterAll(() => secured.close());

const unauthorized = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'Unauthorized',
  reason: 'Unauthorized',
  code: 401,
};

describe('HTTP/1.1', () => {
  it('is spoken with clients that ask for it or for nothing', async () => {
    for (const ALPNProtocols of [['http/1.1'], undefined]) {
      const { status, text } = await secured.http1('/version', as('admin'), { ALPNProtocols });
      expect([status, JSON.parse(text).major]).toEqual([200, '1']);
    }
  });

  it('refuses clients without credentials in the words of Kubernetes, and says why to the log alone', async () => {
    for (const headers of [{}, as('broken')]) {
      const answer = await secured.http1('/api/v1/pods', headers);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([401, unauthorized]);
      expect(answer.headers['www-authenticate']).toBeUndefined();
      expect(answer.headers['audit-id']).toBeDefined();
    }
    expect(secured.logged.join()).toMatch(
      /^a request from 127.0.0.1 was not authenticated: the list of users is lost$/,
    );
  });

  it('waits for authenticators that have to ask others', async () => {
    expect((await secured.http1('/version', as('later'))).status).toBe(200);
  });
});

describe('client certificates', () => {
  it('are shown to authenticators, those of other authorities too, also in sessions that are resumed', async () => {
    const bob = secured.certificates.clientFor('bob', ['dev']);
    const socket = await secured.connection({ ...bob, maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] });
    const session = socket.getSession();
    socket.destroy();
    for (const options of [bob, { ...bob, maxVersion: 'TLSv1.2', session } as object]) {
      const answer = await secured.http1('/api/v1/namespaces/ns/configmaps/none', {}, options);
      expect([answer.status, JSON.parse(answer.text).reason]).toEqual([404, 'NotFound']);
    }
    const stranger = new Secured();
    const foreign = await secured.http1('/version', {}, stranger.certificates.clientFor('eve', []));
    stranger.close();
    expect(foreign.status).toBe(200);
  });

  it('are told apart by whether a page of another site uses them', async () => {
    const told: unknown[] = [];
    const authenticator = {
      authenticate: ({ isForeignPage }: Credentials) => {
        told.push(isForeignPage);
        return { name: 'bob', groups: [] };
      },
    };
    const asked = new Secured({ authenticator });
    const behind = new Proxied({}, () => ({ doors: [asked.door] }));
    await behind.start();
    for (const site of ['same-origin', 'cross-site'])
      await asked.http1('/version', { 'sec-fetch-site': site });
    await asked.http1('/version', { origin: 'https://evil.example' });
    await behind.stop();
    asked.close();
    expect(told).toEqual([false, true, true]);
  });
});

describe('HTTP/2', () => {
  it('has the settings of kube-apiserver, and neither push nor extended CONNECT', async () => {
    const session = secured.session();
    const [settings] = await once(session, 'remoteSettings');
    expect(settings).toMatchObject({
      maxConcurrentStreams: 100,
      initialWindowSize: 262_144,
      maxFrameSize: 262_144,
      maxHeaderListSize: 1_048_896,
      enableConnectProtocol: false,
    });
    session.close();
  });

  it('creates, reads, lists, patches and deletes', async () => {
    const session = secured.session();
    const made = await http2(
      session,
      configMaps,
      { ...as('admin'), ':method': 'POST' },
      config('h2', { a: 'b' }),
    );
    expect(made.status).toBe(200);
    expect(made.headers['content-type']).toBe('application/json');
    for (const name of ['connection', 'keep-alive', 'transfer-encoding'])
      expect(made.headers[name]).toBeUndefined();
    const read = await http2(session, `${configMaps}/h2`);
    expect(JSON.parse(read.text).data).toEqual({ a: 'b' });
    const patch = { ...as('admin'), ':method': 'PATCH', 'content-type': 'application/merge-patch+json' };
    const patched = await http2(session, `${configMaps}/h2`, patch, '{"data":{"a":null,"c":"d"}}');
    expect(JSON.parse(patched.text).data).toEqual({ c: 'd' });
    const many = await Promise.all(Array.from({ length: 50 }, () => http2(session, configMaps)));
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await http2(session, `${configMaps}/h2`, { ...as('admin'), ':method': 'DELETE' })).status).toBe(
      200,
    );
    const head = await http2(session, '/version', { ...as('admin'), ':method': 'HEAD' });
    expect(head.text).toBe('');
    session.close();
  });

  it('takes bodies without a length, and refuses those that are too large without breaking the connection', async () => {
    const session = secured.session();
    const slow = session.request({ ':path': configMaps, ':method': 'POST', ...as('admin') });
    const text = config('slow');
    slow.write(text.slice(0, 10));
    await new Promise((resolve) => setImmediate(resolve));
    slow.end(text.slice(10));
    expect((await answerOf(slow)).status).toBe(200);
    const large = session.request({ ':path': configMaps, ':method': 'POST', ...as('admin') });
    large.on('error', () => undefined).end(config('large', { a: 'x'.repeat(4_000_000) }));
    expect((await answerOf(large)).status).toBe(413);
    expect((await http2(session, '/version')).status).toBe(200);
    session.close();
  });

  it('watches: header at once, an event at a time, and a reset ends the watcher', async () => {
    const session = secured.session();
    const watch = session.request({ ':path': `${configMaps}?watch=true&resourceVersion=0`, ...as('admin') });
    const [headers] = await once(watch, 'response');
    expect(headers[':status']).toBe(200);
    watch.setEncoding('utf8');
    for (const name of ['w1', 'w2', 'w3']) {
      const told = new Promise<string>((resolve) => {
        const look = (chunk: string): void => {
          if (!chunk.includes(`"name":"${name}"`)) return;
          watch.off('data', look);
          resolve(chunk);
        };
        watch.on('data', look);
      });
      await http2(session, configMaps, { ...as('admin'), ':method': 'POST' }, config(name));
      expect(JSON.parse((await told).trim().split('\n').at(-1)!).type).toBe('ADDED');
    }
    const watchers = async () =>
      /apiserver_longrunning_requests\{[^}]*configmaps[^}]*\} (\d+)/.exec(
        (await http2(session, '/metrics')).text,
      )?.[1];
    expect(await watchers()).toBe('1');
    watch.close(constants.NGHTTP2_CANCEL);
    await expect.poll(watchers).toBeUndefined();
    session.close();
  });

  it('answers upgrades with a refusal, as there are none inside of it', async () => {
    await api.pod('exec', undefined, { nodeName: 'n' });
    await api.seed('nodes', '', {
      metadata: { name: 'n' },
      status: { addresses: [{ type: 'InternalIP', address: '10.9.9.9' }] },
    });
    const session = secured.session();
    const exec = await http2(session, '/api/v1/namespaces/ns/pods/exec/exec?command=true&container=c', {
      ...as('admin'),
      ':method': 'POST',
    });
    expect([exec.status, JSON.parse(exec.text).message]).toEqual([400, 'Upgrade request required']);
    session.close();
  });

  it('streams logs and passes requests on to pods', async () => {
    const nodeName = 'logs';
    await api.pod('talker', undefined, { nodeName });
    await api.seed('nodes', '', {
      metadata: { name: nodeName },
      status: { addresses: [{ type: 'InternalIP', address: '10.9.9.8' }] },
    });
    api.agents.servers.set(
      nodeName,
      createServer((request, response) => {
        if (!request.url!.startsWith('/containerLogs')) return void request.pipe(response);
        response.write('one\n');
        setImmediate(() => response.end('two\n'));
      }),
    );
    const session = secured.session();
    const log = await http2(session, '/api/v1/namespaces/ns/pods/talker/log?container=c');
    expect([log.status, log.headers['content-type'], log.text]).toEqual([200, 'text/plain', 'one\ntwo\n']);
    const sent = { ...as('admin'), ':method': 'POST', 'content-type': 'text/plain' };
    const echoed = await http2(session, `/api/v1/nodes/${nodeName}/proxy/echo`, sent, 'hello');
    expect([echoed.status, echoed.text]).toEqual([200, 'hello']);
    session.close();
  });

  it('ends a connection with GOAWAY after a request without credentials, which is answered', async () => {
    for (const [path, status] of [
      ['/api/v1/pods', 401],
      ['/version', 200],
    ] as const) {
      const session = secured.session();
      const goaway = once(session, 'goaway');
      expect((await http2(session, path, {})).status).toBe(status);
      expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR);
      await once(session, 'close');
    }
  });

  it('refuses methods that there are not', async () => {
    const session = secured.session();
    expect((await http2(session, '/version', { ...as('admin'), ':method': 'COOK' })).status).toBe(405);
    session.close();
  });

  it('can be switched off, and its streams bounded', async () => {
    const without = new Secured({ http2: false });
    const few = new Secured({ http2: { streamsMax: 3 } });
    const both = new Proxied({}, () => ({ doors: [without.door, few.door] }));
    await both.start();
    expect((await without.connection({ ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol).toBe('http/1.1');
    const session = few.session();
    const [settings] = await once(session, 'remoteSettings');
    expect(settings.maxConcurrentStreams).toBe(3);
    session.destroy();
    await both.stop();
    without.close();
    few.close();
  });
});

describe('curl', () => {
  it('gets the same over both', async () => {
    const run = promisify(execFile);
    for (const version of ['--http1.1', '--http2']) {
      const { stdout } = await run('curl', [
        '-sSk',
        version,
        '-w',
        ' %{http_version}',
        '-H',
        'Authorization: Bearer a',
        `${secured.door.url}/healthz`,
      ]);
      expect(stdout).toBe(`ok ${version === '--http2' ? '2' : '1.1'}`);
    }
  });
});

describe('certificates of the server', () => {
  it('are renewed without a restart: new connections see the new one, old ones go on', async () => {
    const old = await secured.connection({ ALPNProtocols: ['h2'] });
    const session = secured.session();
    expect((await http2(session, '/version')).status).toBe(200);
    secured.nowMs = Date.now();
    secured.certificates.renew();
    const fresh = await secured.connection({ ALPNProtocols: ['h2'] });
    expect(fresh.getPeerCertificate().serialNumber).not.toBe(old.getPeerCertificate().serialNumber);
    expect((await http2(session, '/version')).status).toBe(200);
    for (const socket of [old, fresh]) socket.destroy();
    session.close();
  });
});

describe('the end', () => {
  it('is told by GOAWAY: watches end, what is under way is answered, and nothing stays', async () => {
    const closing = new Secured();
    const server = new Proxied({}, () => ({ doors: [closing.door] }));
    await server.start();
    const session = closing.session();
    const watch = session.request({ ':path': `${configMaps}?watch=true`, ...as('admin') });
    await once(watch, 'response');
    const idle = await closing.connection({ ALPNProtocols: ['http/1.1'] });
    // One that says nothing, does not read, and never closes its side.
    const mute = await closing.connection({ ALPNProtocols: ['h2'] });
    const goaway = once(session, 'goaway');
    const ended = once(watch.resume(), 'end');
    const closed = [once(session, 'close'), once(idle.resume(), 'close')];
    await server.stop();
    expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR);
    await ended;
    await Promise.all(closed);
    mute.destroy();
    closing.close();
  });
});
