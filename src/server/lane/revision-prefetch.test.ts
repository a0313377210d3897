import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RevisionPrefetch } from './revision-prefetch.ts';

/** Runs requests so that a question which is shared leaves a trace. */
class Log {
  readonly lines: string[] = [];
  #asked = 0;
  canAsk = true;

  readonly prefetchRevision = (): ((handle: () => void) => void) | undefined => {
    if (!this.canAsk) return undefined;
    const number = ++this.#asked;
    return (handle) => {
      this.lines.push(`shares ${number}`);
      handle();
    };
  };

  run(question: RevisionPrefetch): string[] {
    this.lines.length = 0;
    question.run(() => this.lines.push('runs'));
    return this.lines;
  }
}

describe('a question that is asked ahead', () => {
  const sockets: Socket[] = [];
  let server: Server;
  let onData: (socket: Socket) => void;

  beforeEach(async () => {
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('data', () => onData(socket));
    });
    // Room for all connections of a test: of those beyond it, the kernel may drop the last step of the handshake.
    server.listen({ port: 0, host: '127.0.0.1', backlog: 2048 });
    await once(server, 'listening');
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  const clients = async (count: number): Promise<Socket[]> => {
    const { port } = server.address() as AddressInfo;
    const made = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    sockets.push(...made);
    await Promise.all(made.map((client) => once(client, 'connect')));
    while (server.listening && (await connections(server)) < count) await turn();
    return made;
  };

  it('is shared by requests that are read in one round of the loop', async () => {
    const log = new Log();
    const all = await clients(20);
    const question = new RevisionPrefetch(log.prefetchRevision);
    let read = 0;
    const done = new Promise<string[]>((resolve) => {
      onData = () => {
        question.ask();
        if (++read === 1)
          setImmediate(() => {
            question.check();
            resolve([...log.run(question)]);
          });
      };
    });
    for (const client of all) client.write('x');
    expect(await done).toEqual(['shares 1', 'runs']);
    expect(read).toBeGreaterThan(0);
  });

  it('is not shared by requests that are run in a later round', async () => {
    const log = new Log();
    const [client] = await clients(1);
    const question = new RevisionPrefetch(log.prefetchRevision);
    const done = new Promise<string[]>((resolve) => {
      onData = () => {
        question.ask();
        setImmediate(() =>
          setImmediate(() => {
            question.check();
            resolve([...log.run(question)]);
          }),
        );
      };
    });
    client!.write('x');
    expect(await done).toEqual(['runs']);
  });

  it('is not shared when it was asked at the end of the round before', async () => {
    const log = new Log();
    const question = new RevisionPrefetch(log.prefetchRevision);
    await turn();
    question.ask();
    // The next round does not use this question: sockets that it reads may have become ready after it.
    await turn();
    question.check();
    expect(log.run(question)).toEqual(['runs']);
  });

  it('is not shared when the loop has received too many events since to be sure of them', async () => {
    // Proves that a loop that asks the kernel again in the same round is found out.
    const all = await clients(1100);
    const round = (): Promise<[number, string[]]> =>
      new Promise((resolve) => {
        const log = new Log();
        const question = new RevisionPrefetch(log.prefetchRevision);
        let read = 0;
        onData = () => {
          question.ask();
          if (++read > 1) return;
          setImmediate(() => {
            onData = () => undefined;
            question.check();
            resolve([read, [...log.run(question)]]);
          });
        };
        for (const client of all) client.write('x');
      });
    // A round may find a part of them only.
    let largest = 0;
    for (let tries = 0; largest < 1024 && tries < 100; tries++) {
      const [read, lines] = await round();
      if (read >= 1024) expect(lines).toEqual(['runs']);
      largest = Math.max(largest, read);
    }
    expect(largest).toBeGreaterThanOrEqual(1024);
  });

  it('is asked with a later request where the first could not', async () => {
    const log = new Log();
    const [client] = await clients(1);
    log.canAsk = false;
    const question = new RevisionPrefetch(log.prefetchRevision);
    question.ask();
    log.canAsk = true;
    const done = new Promise<string[]>((resolve) => {
      onData = () => {
        question.ask();
        setImmediate(() => {
          question.check();
          resolve([...log.run(question)]);
        });
      };
    });
    client!.write('x');
    expect(await done).toEqual(['shares 1', 'runs']);
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const connections = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
