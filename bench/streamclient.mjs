/**
 * A client of streams, in a process of its own: moves bytes through a plain connection, an exec or a port-forward, and
 * tells how long that took. Started by `streams.mjs`, which it talks to over its channel. The SPDY in it is Wherry's
 * own, from a bundle; what is sent is framed beforehand, because it is not the client that is measured.
 */
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { pathToFileURL } from 'node:url';

const { encodeDataHead, SpdyConnection, upgradeToSpdy } = await import(pathToFileURL(process.argv[2]).href);
const chunk = Buffer.alloc(64 * 1024);

async function dial(port) {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** All connections read into this: what arrives is counted at once, and never looked at again. */
const memory = Buffer.allocUnsafeSlow(512 * 1024);
/** Shorter pieces are copied: answers and control frames are among them. */
const copiedBytesMax = 8 * 1024;

/** Reading must cost the client as little as it can. */
async function dialCounting(port) {
  const take = (bytes) => {
    const piece = memory.subarray(0, bytes);
    if (bytes <= copiedBytesMax || !socket.readableFlowing) socket.push(Buffer.from(piece));
    else socket.emit('data', piece);
    return true;
  };
  const socket = new Socket({ allowHalfOpen: true, onread: { buffer: memory, callback: take } });
  socket.connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}

async function spdy({ url, path, protocol }) {
  const { host, port } = new URL(url);
  const answer = await upgradeToSpdy(() => dialCounting(Number(port)), {
    method: 'POST',
    path,
    headers: [['Host', host]],
    protocols: [protocol],
  });
  if (answer.refused) throw new Error(`${path}: ${answer.refused.body}`);
  const connection = new SpdyConnection(answer.socket, { role: 'client', head: answer.head });
  return { connection, socket: answer.socket };
}

/** Reads to the end, and answers with how many bytes that were. */
async function drain(stream) {
  let bytes = 0;
  stream.on('data', (data) => {
    bytes += data.length;
  });
  if (!stream.readableEnded) await once(stream, 'end');
  return bytes;
}

async function fill(socket, bytes, framed = (piece) => piece) {
  const whole = framed(chunk);
  for (let left = bytes; left > 0; left -= chunk.length) {
    const piece = left < chunk.length ? framed(chunk.subarray(0, left)) : whole;
    if (!socket.write(piece)) await once(socket, 'drain');
  }
}

const framedFor =
  ({ id }) =>
  (piece) =>
    Buffer.concat([encodeDataHead(id, piece.length, false), piece]);

/** A connection that carries bytes both ways, plain or forwarded. */
async function forwarded(wish) {
  if (!wish.path) {
    const stream = await dial(wish.port);
    return { stream, send: (bytes) => fill(stream, bytes), close: () => undefined };
  }
  const { connection, socket } = await spdy({ ...wish, protocol: 'portforward.k8s.io' });
  const headers = { port: String(wish.port), requestID: '0' };
  (await connection.openStream({ ...headers, streamType: 'error' })).resume();
  const stream = await connection.openStream({ ...headers, streamType: 'data' });
  return {
    stream,
    send: (bytes) => fill(socket, bytes, framedFor(stream)),
    close: () => connection.close(),
  };
}

const ways = {
  /** Out of the pod, or of the yardstick. */
  async download(wish) {
    const { stream, close } = await forwarded(wish);
    stream.write(`zeros ${wish.bytes}\n`);
    const bytes = await drain(stream);
    stream.end();
    close();
    return bytes;
  },
  async upload(wish) {
    const { stream, send, close } = await forwarded(wish);
    stream.write('sink\n');
    const [answered] = await Promise.all([drain(stream), send(wish.bytes).then(() => stream.end())]);
    close();
    return answered === 'done'.length ? wish.bytes : 0;
  },
  async stdout(wish) {
    const { connection } = await spdy({ ...wish, protocol: 'v4.channel.k8s.io' });
    (await connection.openStream({ streamType: 'error' })).resume();
    const bytes = await drain(await connection.openStream({ streamType: 'stdout' }));
    connection.close();
    return bytes;
  },
  /** Over when the command has ended and said so. */
  async stdin(wish) {
    const { connection, socket } = await spdy({ ...wish, protocol: 'v4.channel.k8s.io' });
    const status = drain(await connection.openStream({ streamType: 'error' }));
    const stdin = await connection.openStream({ streamType: 'stdin' });
    stdin.resume();
    (await connection.openStream({ streamType: 'stdout' })).resume();
    await fill(socket, wish.bytes, framedFor(stdin));
    stdin.end();
    const told = await status;
    connection.close();
    return told > 0 ? wish.bytes : 0;
  },
};

process.on('message', async (wish) => {
  const begun = performance.now();
  try {
    const bytes = await ways[wish.way](wish);
    if (bytes !== wish.bytes) throw new Error(`${wish.way}: ${bytes} bytes instead of ${wish.bytes}`);
    process.send({ seconds: (performance.now() - begun) / 1000 });
  } catch (error) {
    process.send({ failure: error.message });
  }
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
